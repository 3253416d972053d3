"""safetensors files of plain numbers.

Files are written here, so that no second copy of the weights is held and the hash is taken while writing.
They are read here too, once the header has been checked: into arrays of NumPy's own memory, which takes a
third of the time that the safetensors library does.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tailwright.errors import quoted
from tailwright.store import strict_json
from tailwright.store.errors import DamagedFolderError, errors_of_reading
from tailwright.store.manifest import first_problem
from tailwright.store.npy import (
    MAX_AXES,
    PLAIN,
    Shape,
    as_bytes,
    check_bools,
    check_expected,
    check_shape,
    plain,
)

MAX_HEADER_BYTES = 16 << 20
_METADATA = "__metadata__"  # other safetensors files may have it; ours do not
_DTYPES = {code: np.dtype(descr) for descr, code in PLAIN.items()}


class _Entry(BaseModel):
    """What the header says of one tensor."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    dtype: Literal["BOOL", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "F16", "F32", "F64"]
    shape: list[Annotated[int, Field(ge=0)]] = Field(max_length=MAX_AXES)
    data_offsets: list[Annotated[int, Field(ge=0)]] = Field(min_length=2, max_length=2)


_HEADER = TypeAdapter(dict[str, _Entry])


def tensors_chunks(tensors: Mapping[str, np.ndarray], name: str) -> list[bytes | memoryview]:
    """The bytes of the safetensors file of `tensors`, in chunks; wide types first, to align each tensor."""
    if _METADATA in tensors:
        raise ValueError(f"{name} has a tensor named {_METADATA}, which safetensors reserves")
    arrays = {key: plain(array, f"{name}[{key!r}]") for key, array in tensors.items()}
    order = sorted(arrays, key=lambda key: (-arrays[key].itemsize, key))
    header: dict[str, Any] = {}
    place = 0
    for key in order:
        array = arrays[key]
        header[key] = {
            "dtype": PLAIN[array.dtype.str],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    text = strict_json.encode(header, indent=None)
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(f"{name} has a header of {len(text)} bytes, more than {MAX_HEADER_BYTES}")
    return [len(text).to_bytes(8, "little"), text, *(as_bytes(arrays[key]) for key in order)]


def read_tensors(
    path: Path, *, shapes: Mapping[str, Shape] | None = None, mapped: bool = False
) -> dict[str, np.ndarray]:
    """The tensors in the file, by name; with `shapes`, exactly these names and shapes are accepted.

    With `mapped` they lie in private mappings of the file, as `read_npy` makes them.
    """
    header, start = _read_header(path)
    if shapes is not None:
        odd = sorted(header.keys() ^ shapes.keys())
        if odd:
            problem = f"tensor {quoted(odd[0])} " + ("is missing" if odd[0] in shapes else "is unknown")
            raise DamagedFolderError(problem, expected=f"{len(shapes)} tensors", path=path)
        for key, shape in shapes.items():
            dtype = _DTYPES[header[key].dtype]
            check_expected(path, dtype, header[key].shape, None, shape, f"{quoted(key)} of ")
    with errors_of_reading(path):
        loaded = _mapped(path, header, start) if mapped else _read(path, header, start)
    for tensor in loaded.values():
        check_bools(tensor, path)
    return {key: loaded[key] for key in sorted(loaded)}


def _read(path: Path, header: dict[str, _Entry], start: int) -> dict[str, np.ndarray]:
    tensors = {}
    with path.open("rb") as file:
        for key, entry in header.items():
            count = math.prod(entry.shape)
            file.seek(start + entry.data_offsets[0])
            flat = np.fromfile(file, _DTYPES[entry.dtype], count)
            if len(flat) != count:
                raise DamagedFolderError(f"{len(flat)} values", expected=str(count), path=path)
            tensors[key] = flat.reshape(entry.shape)
    return tensors


def _mapped(path: Path, header: dict[str, _Entry], start: int) -> dict[str, np.ndarray]:
    """The tensors over the pages of the file; one that another writer did not align is copied."""
    with path.open("rb") as file:
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    tensors = {}
    for key, entry in header.items():
        count = math.prod(entry.shape)
        flat = np.frombuffer(pages, _DTYPES[entry.dtype], count, offset=start + entry.data_offsets[0])
        tensors[key] = np.require(flat.reshape(entry.shape), requirements=["A"])
    return tensors


def _read_header(path: Path) -> tuple[dict[str, _Entry], int]:
    """What the header says, and where the values begin."""
    with errors_of_reading(path), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, MAX_HEADER_BYTES):
            problem = f"a safetensors header of {length} bytes in a file of {size}"
            raise DamagedFolderError(problem, expected="a safetensors file", path=path)
        raw = file.read(length)
    try:
        header = _HEADER.validate_python(strict_json.decode(raw))
        _check_layout(header, size - 8 - length)
    except ValidationError as error:
        problem = f"safetensors header: {first_problem(error)}"
        raise DamagedFolderError(problem, expected="name, dtype, shape and offsets", path=path) from error
    except ValueError as error:
        raise DamagedFolderError(f"safetensors header: {error}", path=path) from error
    return header, 8 + length


def _check_layout(header: dict[str, _Entry], size: int) -> None:
    """The tensors lie end to end over the `size` bytes of values, each as long as its shape says."""
    place = 0
    for key, entry in sorted(header.items(), key=lambda item: item[1].data_offsets):
        begin, end = entry.data_offsets
        needs = check_shape(entry.shape, _DTYPES[entry.dtype].itemsize)
        if begin != place or end - begin != needs:
            raise ValueError(
                f"{quoted(key)} lies at {begin}..{end}, but {quoted(entry.shape)} of {entry.dtype} "
                f"takes {needs} bytes from {place}"
            )
        place = end
    if place != size:
        raise ValueError(f"the tensors take {place} bytes, but {size} follow")
