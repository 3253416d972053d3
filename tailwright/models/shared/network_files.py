"""The parts of a network in a folder, by name."""

from __future__ import annotations

import numpy as np

from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.parts import Parts, put_weights, weights_of


def save_parts(folder: FolderWriter, name: str, parts: Parts) -> None:
    """Write `name`.safetensors."""
    folder.tensors(name, weights_of(parts))


def load_parts(folder: FolderReader, name: str, parts: Parts) -> None:
    """Fill the parts with what `save_parts` wrote of parts of the same names and shapes."""
    shapes = {part: weight.shape for part, weight in weights_of(parts).items()}
    found = folder.tensors(name, shapes=shapes)
    for part, array in found.items():
        if array.dtype != np.float32 or not bool(np.isfinite(array).all()):
            path = folder.path / f"{name}.safetensors"
            raise DamagedFolderError(f"{part} of {array.dtype}", expected="finite float32", path=path)
    put_weights(parts, found)
