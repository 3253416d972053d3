"""Weights, gradients and moments as arrays by name, and the learning rates of parameters by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np

Arrays: TypeAlias = dict[str, np.ndarray]


def rates_by_name(parameters: Iterable[str], rates: Mapping[str, float | None]) -> dict[str, float]:
    """The learning rate of each of the parameters that is trained.

    `rates` names parameters, or modules for all parameters within; the longest name counts, and what is named
    by none, or with a rate of None, is frozen. ValueError for a name of nothing.

    >>> rates_by_name(["0.weight", "0.bias", "1.weight"], {"0": 0.1, "0.bias": 0.2})
    {'0.weight': 0.1, '0.bias': 0.2}
    """
    rate_of: dict[str, float] = {}
    used = set()
    for name in parameters:
        owners = [owner for owner in rates if name == owner or name.startswith(f"{owner}.")]
        if owners:
            nearest = max(owners, key=len)
            used.add(nearest)
            rate = rates[nearest]
            if rate is not None:
                rate_of[name] = rate
    unknown = sorted(set(rates) - used)
    if unknown:
        raise ValueError(f"the plan trains {unknown[0]!r}, which is no parameter of the network")
    return rate_of
