"""Tiny fusions, and what their tests have in common: toys that are known by name, and one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields

import numba
import numpy as np
import pytest
from toy_parts import KnowsFrequent, KnowsRare, Toy

from tailwright.models import models
from tailwright.models.fusion.combination import Combination
from tailwright.models.fusion.model import Fusion
from tailwright.settings import settings_from

TOYS = "knows-frequent+knows-rare"
QUICK = {
    "fewest": 10,
    "held_out": 0.2,
    "few_rows": 0,  # parts learn once
    "twin": {"width": 16, "epochs": 2, "batch": 32, "negatives": 4},
}


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Networks as small as these are slower with two threads; and another number rounds otherwise."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def name_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy parts can be asked for by name, and remember nothing of the test before."""
    for kind in (KnowsFrequent, KnowsRare):
        monkeypatch.setitem(models._found, kind.card.name, kind)
    for name, empty in (("fits", []), ("questions", []), ("dying", set())):
        monkeypatch.setattr(Toy, name, empty)


def fitted(name, corpus, values=None, work=None, seed=0) -> Fusion:
    kind = models.get(name)
    model = kind(settings_from(kind.Settings, values or {}))
    model.fit(corpus, seed=seed, work=work)
    return model


def same(a: Combination, b: Combination) -> bool:
    return all(np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(Combination))
