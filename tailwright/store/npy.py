"""npy files of plain numbers.

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
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from tailwright.errors import quoted
from tailwright.store.errors import DamagedFolderError, errors_of_reading
from tailwright.store.plain import PLAIN, Shape, as_bytes, check_bools, check_expected, check_shape, plain

_MAGIC = b"\x93NUMPY"
_PREFIX = len(_MAGIC) + 4  # magic, two bytes of version, two bytes of header length
_ALIGNMENT = 64
_HEADER = re.compile(
    rb"\{'descr': '([^']{0,40})', 'fortran_order': (True|False), "
    rb"'shape': \((|[0-9]{1,19},|[0-9]{1,19}(?:, [0-9]{1,19})+)\), \} *\n"
)


def npy_chunks(array: np.ndarray, name: str) -> list[bytes | memoryview]:
    """The bytes of the npy file of `array`, in chunks; the values are not copied."""
    array = plain(array, name)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    )
    return [header.getvalue(), as_bytes(array)]


def read_npy(
    path: Path, *, dtype: DTypeLike | None = None, shape: Shape | None = None, mmap: bool = False
) -> np.ndarray:
    """The array in the file; with `mmap` a read-only mapping, which survives if the file is replaced."""
    with errors_of_reading(path), path.open("rb") as file:
        stored_dtype, stored_shape = _read_header(file, path)
        check_expected(path, stored_dtype, stored_shape, dtype, shape)
        count = math.prod(stored_shape)
        if mmap and count:
            pages = memory.mmap(file.fileno(), 0, access=memory.ACCESS_READ)
            flat = np.frombuffer(pages, stored_dtype, count, offset=file.tell())
        else:
            flat = np.fromfile(file, stored_dtype, count)
    if len(flat) != count:
        raise DamagedFolderError(f"{len(flat)} values", expected=str(count), path=path)
    array = flat.reshape(stored_shape)
    check_bools(array, path)
    if mmap:
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
            f"{quoted(shape)} of {dtype} takes {size} bytes",
            expected=f"the {left} that follow",
            path=path,
        )
    return dtype, shape
