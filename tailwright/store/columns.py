"""Strings and sparse matrices as plain arrays, and back with every index checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.store.plain import MAX_UNVOUCHED

INDEX_TYPES = (np.int32, np.int64)
# scipy has no float16 matrices.
CSR_TYPES = (
    *(np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64),
    *(np.float32, np.float64),
)

Strings: TypeAlias = Sequence[str] | pa.Array | pa.ChunkedArray


def strings_to_arrays(strings: Strings) -> tuple[np.ndarray, np.ndarray]:
    """(bytes uint8 (total,), offsets int64 (strings + 1,)); ValueError for a null or invalid UTF-8."""
    if not isinstance(strings, (pa.Array, pa.ChunkedArray)):
        strings = pa.array(strings, pa.large_string())
    if strings.type not in (pa.string(), pa.large_string()):
        raise TypeError(f"expected strings, got an Arrow array of {strings.type}")
    array = strings.cast(pa.large_string())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count:
        raise ValueError("a string is null; use an empty string")
    array.validate(full=True)
    _, offset_buffer, byte_buffer = array.buffers()
    if len(array) == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    values = np.frombuffer(byte_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    return values, offsets - offsets[0]


def strings_from_arrays(values: np.ndarray, offsets: np.ndarray) -> pa.LargeStringArray:
    """The strings; ValueError where the offsets or the UTF-8 are wrong."""
    _check_offsets(offsets, len(values), "offsets")
    array = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(values))
    array.validate(full=True)
    return array


def csr_to_arrays(matrix: sparse.csr_array, name: str) -> dict[str, np.ndarray]:
    """data, indices, indptr and shape of a consistent CSR matrix; TypeError or ValueError otherwise."""
    if not sparse.issparse(matrix) or matrix.format != "csr":
        raise TypeError(f"{name} is a {type(matrix).__name__}, expected a CSR matrix")
    if matrix.dtype not in CSR_TYPES:
        raise TypeError(f"{name} has dtype {matrix.dtype}, which cannot be stored")
    stored = int(matrix.indptr[-1])
    arrays = {"data": matrix.data[:stored], "indices": matrix.indices[:stored], "indptr": matrix.indptr}
    check_csr(**arrays, shape=matrix.shape)
    return {**arrays, "shape": np.array(matrix.shape, dtype=np.int64)}


def check_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> None:
    """ValueError unless these arrays (one axis each, indices int32 or int64) make a matrix of `shape`."""
    rows, columns = shape
    if not 0 <= columns <= MAX_UNVOUCHED:
        raise ValueError(f"absurd number of columns {columns}")
    if len(indptr) - 1 != rows:
        raise ValueError(f"{len(indptr)} row pointers for {rows} rows")
    if len(data) != len(indices):
        raise ValueError(f"{len(data)} values but {len(indices)} column indices")
    _check_offsets(indptr, len(indices), "row pointers")
    if len(indices):
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= columns:
            raise ValueError(f"column index {low if low < 0 else high} outside 0..{columns - 1}")


def _check_offsets(offsets: np.ndarray, total: int, what: str) -> None:
    """ValueError unless the offsets go from 0 to `total` and never fall."""
    if len(offsets) == 0:
        raise ValueError(f"no {what}")
    if offsets[0] != 0 or offsets[-1] != total:
        raise ValueError(f"{what} run from {offsets[0]} to {offsets[-1]}, not from 0 to {total}")
    falls = offsets[1:] < offsets[:-1]
    if bool(falls.any()):
        raise ValueError(f"{what} fall after entry {int(falls.argmax())}")
