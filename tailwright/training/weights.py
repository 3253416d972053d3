"""The weights of a torch module by name, as arrays: for a snapshot, a checkpoint or a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import torch
from torch import nn

from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.named_arrays import Arrays


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
