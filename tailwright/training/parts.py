"""The learnable parts of a model by name, and their weights as arrays: for a snapshot or a checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

import numpy as np
import torch

from tailwright.encoders.row_table import RowTable

Parts: TypeAlias = Mapping[str, RowTable | torch.Tensor]
Arrays: TypeAlias = dict[str, np.ndarray]


def weights_of(parts: Parts, names: Collection[str] | None = None) -> Arrays:
    """The weights of the parts (or of those named) as arrays, which share their memory on the CPU."""
    found = {}
    for name in parts if names is None else names:
        part = parts[name]
        found[name] = part.weight if isinstance(part, RowTable) else part.detach().cpu().numpy()
    return found


def put_weights(parts: Parts, arrays: Arrays) -> None:
    """Set the parts that are named to these weights."""
    for name, array in arrays.items():
        part = parts[name]
        if isinstance(part, RowTable):
            part.weight[...] = array
        else:
            part.detach().copy_(torch.from_numpy(array))
