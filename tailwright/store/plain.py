"""The plain numeric types and the shapes that files may hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from tailwright.store.errors import DamagedFolderError

Shape = Sequence[int | None]

# The name that an npy header gives a type -> the name that safetensors gives it.
PLAIN = {
    "|b1": "BOOL",
    "|i1": "I8",
    "|u1": "U8",
    "<i2": "I16",
    "<u2": "U16",
    "<i4": "I32",
    "<u4": "U32",
    "<i8": "I64",
    "<u8": "U64",
    "<f2": "F16",
    "<f4": "F32",
    "<f8": "F64",
}

MAX_AXES = 32
# The largest size of an axis that the file's length cannot confirm: of an empty array, or CSR columns.
MAX_UNVOUCHED = 2**31


def plain(array: np.ndarray, name: str) -> np.ndarray:
    """`array` as little-endian in C order; TypeError for a type that files do not hold."""
    array = np.asarray(array, order="C")
    little = array.dtype.newbyteorder("<")
    if little.str not in PLAIN:
        raise TypeError(f"{name} has dtype {array.dtype}, which is not a plain number")
    check_shape(array.shape, array.itemsize)
    return array.astype(little, copy=False)


def as_bytes(array: np.ndarray) -> memoryview:
    """The bytes of a plain array, not copied."""
    return array.reshape(-1).view(np.uint8).data


def check_shape(shape: Sequence[int], itemsize: int) -> int:
    """The number of bytes in an array of `shape`; ValueError for a shape that no file could have."""
    size = math.prod(shape) * itemsize
    if len(shape) > MAX_AXES:
        raise ValueError(f"a shape of {len(shape)} axes, more than {MAX_AXES}")
    if size == 0 and (
        max(shape, default=0) > MAX_UNVOUCHED or math.prod(max(axis, 1) for axis in shape) * itemsize >= 2**63
    ):
        raise ValueError(f"absurd shape {tuple(shape)}")
    return size


def check_bools(array: np.ndarray, path: Path) -> None:
    """Refuse bools of any byte but 0 and 1, which are undefined behaviour further down."""
    if array.dtype == np.bool_ and array.size and int(array.view(np.uint8).max()) > 1:
        raise DamagedFolderError("a byte other than 0 and 1", expected="bools", path=path)


def check_expected(
    path: Path,
    dtype: np.dtype,
    shape: Sequence[int],
    expected_dtype: DTypeLike | None,
    expected_shape: Shape | None,
    what: str = "",
) -> None:
    """`DamagedFolderError` unless dtype and shape are as expected; None stands for any size."""
    if expected_dtype is not None and dtype != np.dtype(expected_dtype):
        raise DamagedFolderError(f"{what}dtype {dtype}", expected=str(np.dtype(expected_dtype)), path=path)
    if expected_shape is None:
        return
    fits = len(shape) == len(expected_shape) and all(
        want in (None, got) for got, want in zip(shape, expected_shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if axis is None else str(axis) for axis in expected_shape)
        raise DamagedFolderError(f"{what}shape {tuple(shape)}", expected=f"({wanted})", path=path)
