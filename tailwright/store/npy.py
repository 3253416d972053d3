"""Arrays of plain numbers, strings and sparse matrices made of them, and npy files.

Headers are written by numpy and read by one regular expression that accepts only the form numpy writes for
plain numbers: nothing is evaluated, and object arrays, structured types and Fortran order are refused. Before
anything is allocated, the header's shape must account for every byte that follows.
"""

from __future__ import annotations

import io
import math
import mmap as memory
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike
from scipy import sparse

from tailwright.errors import quoted
from tailwright.store.errors import DamagedFolderError, errors_of_reading

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
LARGEST_FLOAT = 1e12  # of what a run has learnt
INDEX_TYPES = (np.int32, np.int64)
CSR_TYPES = tuple(np.dtype(descr) for descr in PLAIN if descr != "<f2")  # scipy has no float16 matrices

Strings: TypeAlias = Sequence[str] | pa.Array | pa.ChunkedArray

_MAGIC = b"\x93NUMPY"
_PREFIX = len(_MAGIC) + 4  # magic, two bytes of version, two bytes of header length
_ALIGNMENT = 64
_HEADER = re.compile(
    rb"\{'descr': '([^']{0,40})', 'fortran_order': (True|False), "
    rb"'shape': \((|[0-9]{1,19},|[0-9]{1,19}(?:, [0-9]{1,19})+)\), \} *\n"
)


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


def check_finite(array: np.ndarray, path: Path, what: str = "") -> None:
    """Refuse floats that are NaN, infinite or so large that sums of their products would be."""
    if array.dtype.kind != "f" or not array.size:
        return
    low, high = float(array.min()), float(array.max())  # NaN if there is one
    if not -LARGEST_FLOAT <= low <= high <= LARGEST_FLOAT:
        worst = high if not high <= LARGEST_FLOAT else low
        expected = f"finite numbers up to {LARGEST_FLOAT:g} in size"
        raise DamagedFolderError(f"{what}the number {worst:g}", expected=expected, path=path)


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


def npy_chunks(array: np.ndarray, name: str) -> list[bytes | memoryview]:
    """The bytes of the npy file of `array`, in chunks; the values are not copied."""
    array = plain(array, name)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    )
    return [header.getvalue(), as_bytes(array)]


def read_npy(
    path: Path,
    *,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    mmap: bool = False,
    private: bool = False,
) -> np.ndarray:
    """The array in the file; with `mmap` a read-only mapping, which survives if the file is replaced.

    A `private` mapping can be written to: the file stays as it is, and a page is copied at its first write.
    """
    with errors_of_reading(path), path.open("rb") as file:
        stored_dtype, stored_shape = _read_header(file, path)
        check_expected(path, stored_dtype, stored_shape, dtype, shape)
        count = math.prod(stored_shape)
        if mmap and count:
            access = memory.ACCESS_COPY if private else memory.ACCESS_READ
            pages = memory.mmap(file.fileno(), 0, access=access)
            flat = np.frombuffer(pages, stored_dtype, count, offset=file.tell())
        else:
            flat = np.fromfile(file, stored_dtype, count)
    if len(flat) != count:
        raise DamagedFolderError(f"{len(flat)} values", expected=str(count), path=path)
    array = flat.reshape(stored_shape)
    check_bools(array, path)
    if mmap and not private:
        array.flags.writeable = False
    return array


def _read_header(file: BinaryIO, path: Path) -> tuple[np.dtype, tuple[int, ...]]:
    """dtype and shape; the file is left at the first byte of the values."""
    prefix = file.read(_PREFIX)
    if len(prefix) < _PREFIX or not prefix.startswith(_MAGIC):
        raise DamagedFolderError("does not begin as an npy file", path=path)
    major, minor, length = prefix[6], prefix[7], int.from_bytes(prefix[8:10], "little")
    if (major, minor) != (1, 0):
        raise DamagedFolderError(f"npy version {major}.{minor}", expected="version 1.0", path=path)
    header = file.read(length)
    match = _HEADER.fullmatch(header)
    if match is None or (_PREFIX + length) % _ALIGNMENT:
        raise DamagedFolderError(
            f"npy header {quoted(header)}", expected="the header of a plain numeric array", path=path
        )
    descr = match[1].decode("ascii", "backslashreplace")
    if descr not in PLAIN:
        raise DamagedFolderError(f"dtype {quoted(descr)}", expected="a plain numeric dtype", path=path)
    if match[2] == b"True":
        raise DamagedFolderError("an array in Fortran order", expected="C order", path=path)
    dtype = np.dtype(descr)
    shape = tuple(int(axis) for axis in match[3].split(b",") if axis)
    left = os.fstat(file.fileno()).st_size - file.tell()
    try:
        size = check_shape(shape, dtype.itemsize)
    except ValueError as error:
        raise DamagedFolderError(str(error), path=path) from error
    if size != left:
        raise DamagedFolderError(
            f"{quoted(shape)} of {dtype} takes {size} bytes", expected=f"the {left} that follow", path=path
        )
    return dtype, shape


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
