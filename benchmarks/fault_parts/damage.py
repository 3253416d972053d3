"""Damage to a run folder that its manifest vouches for: every hash is right, and the content lies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy

from tailwright.store.npy import npy_chunks
from tailwright.store.tensors import tensors_chunks

VALUES = (None, "x", -1, 10**12, 1.5, True, [], {}, [None], {"x": 1})


class Damage(NamedTuple):
    """A file of the folder, what is wrong with it, and its new content."""

    name: str
    what: str
    content: bytes


def damages(folder: Path) -> Iterator[Damage]:
    """Every kind of damage to every file of a run folder."""
    for name in json.loads((folder / "manifest.json").read_bytes())["files"]:
        path = folder / name
        if path.suffix == ".npy":
            for what, array in of_array(np.load(path)):
                yield Damage(name, what, b"".join(bytes(chunk) for chunk in npy_chunks(array, name)))
        elif path.suffix == ".safetensors":
            for what, tensors in of_tensors(safetensors.numpy.load_file(path)):
                yield Damage(name, what, b"".join(bytes(chunk) for chunk in tensors_chunks(tensors, name)))
        elif path.suffix == ".json":
            for what, value in of_value(json.loads(path.read_bytes())):
                yield Damage(name, what, json.dumps(value).encode())


def do(damage: Damage, folder: Path) -> None:
    """Write the damaged file, and a manifest that says it is right."""
    (folder / damage.name).write_bytes(damage.content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    digest = hashlib.sha256(damage.content).hexdigest()
    manifest["files"][damage.name] = {"bytes": len(damage.content), "sha256": digest}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def of_array(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    other = np.float64 if array.dtype != np.float64 else np.float32
    yield f"dtype {np.dtype(other)}", array.astype(other)
    yield "dtype uint8", array.astype(np.uint8)
    yield "no values", array.reshape(-1)[:0]
    yield "another axis", array[None]
    yield "a value more", np.append(array.reshape(-1), array.reshape(-1)[-1:])
    if array.ndim:
        yield "a row less", array[:-1]
    if not array.size:
        return
    values = (
        (np.nan, np.inf, -np.inf, 3e38, -3e38, 0) if array.dtype.kind == "f" else (-1, 2**31 - 1, 0, 2**62)
    )
    for value in values:
        with np.errstate(over="ignore"):
            filled = np.full_like(array, 0) if array.dtype == bool else array.copy()
            filled.reshape(-1)[:] = np.array(value).astype(array.dtype)
        yield f"all {value}", filled
        first = array.copy()
        first.reshape(-1)[0] = filled.reshape(-1)[0]
        yield f"first {value}", first
    yield "reversed", array.reshape(-1)[::-1].reshape(array.shape).copy()


def of_tensors(tensors: dict[str, np.ndarray]) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    yield "an unknown tensor", {**tensors, "unknown": np.zeros(2, np.float32)}
    for name, tensor in tensors.items():
        yield f"without {name}", {key: value for key, value in tensors.items() if key != name}
        for what, damaged in of_array(tensor):
            yield f"{name}: {what}", {**tensors, name: damaged}


def of_value(value: Any) -> Iterator[tuple[str, Any]]:
    """A JSON value with each of its parts replaced by others, or left out."""
    for other in VALUES:
        yield f"is {other!r}", other
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"without {key}", {name: one for name, one in value.items() if name != key}
            for what, damaged in of_value(inner):
                yield f"{key} {what}", {**value, key: damaged}
        yield "with more", {**value, "more": 1}
    elif isinstance(value, list) and value:
        for what, damaged in of_value(value[0]):
            yield f"0 {what}", [damaged, *value[1:]]
        yield "longer", [*value, value[0]]
