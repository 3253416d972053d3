"""The weights of a network by name, as arrays: for a snapshot, a checkpoint or a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from tailwright.store import DamagedFolderError, FolderReader, FolderWriter

Arrays: TypeAlias = dict[str, np.ndarray]


def named_tensors(network: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """What `state_dict` has, parameters and lasting buffers; one that two modules share is there once."""
    seen = set()
    for name, tensor in network.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            yield name, tensor


def weights_of(network: nn.Module, names: Collection[str] | None = None) -> Arrays:
    """All weights, or those of these names, as arrays, which share their memory on the CPU."""
    tensors = named_tensors(network) if names is None or names else ()
    return {n: tensor.detach().cpu().numpy() for n, tensor in tensors if names is None or n in names}


@torch.no_grad()
def put_weights(network: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Set the weights of these names."""
    tensors = dict(named_tensors(network)) if arrays else {}
    for name, array in arrays.items():
        tensors[name].copy_(torch.from_numpy(array))


def save_weights(folder: FolderWriter, name: str, network: nn.Module) -> None:
    """Write `name`.safetensors."""
    folder.tensors(name, weights_of(network))


def load_weights(folder: FolderReader, name: str, network: nn.Module) -> None:
    """Take in what `save_weights` wrote of a network of the same shape; damage is an InputError."""
    shapes = {tensor: weight.shape for tensor, weight in weights_of(network).items()}
    arrays = folder.tensors(name, shapes=shapes)
    for tensor, array in arrays.items():
        if array.dtype != np.float32 or not bool(np.isfinite(array).all()):
            path = folder.path / f"{name}.safetensors"
            raise DamagedFolderError(f"{tensor} of {array.dtype}", expected="finite float32", path=path)
    put_weights(network, arrays)


def rates_by_name(network: nn.Module, rates: Mapping[str, float | None]) -> dict[str, float]:
    """The learning rate of each parameter that is trained.

    `rates` names parameters, or modules for all parameters within; the longest name counts, and what is named
    by none, or with a rate of None, is frozen. ValueError for a name of nothing.

    >>> layer = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    >>> rates_by_name(layer, {"0": 0.1, "0.bias": 0.2})
    {'0.weight': 0.1, '0.bias': 0.2}
    """
    rate_of: dict[str, float] = {}
    used = set()
    for name, _ in network.named_parameters():
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
