"""How much of a file is read: the length of a line, and how far a compressed file may unpack.

| limit | default | environment |
|---|---|---|
| a line | 100 MB | `TAILWRIGHT_LINE_MB` |
| unpacked size over packed size, beyond 100 MB | 100 | `TAILWRIGHT_UNPACKED_RATIO` |

Text files of people are far below both. What is above is damaged or hostile, and would fill the memory.
"""

from __future__ import annotations

import csv
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailwright.errors import InputError, quoted

MB = 1 << 20
LINE_MB = "TAILWRIGHT_LINE_MB"
RATIO = "TAILWRIGHT_UNPACKED_RATIO"
_DEFAULTS = {LINE_MB: 100, RATIO: 100}
UNPACKED_BYTES = 100 * MB  # so many may come of any file
_CHUNK = 1 << 20


def limit(name: str) -> int:
    """The limit of that name, as the environment or else the default has it."""
    given = os.environ.get(name, "")
    if not given:
        return _DEFAULTS[name]
    if not given.isdecimal() or not 1 <= int(given) <= 2**31:
        raise InputError(f"{name}={quoted(given)}", expected="a whole number from 1")
    return int(given)


def longest_line() -> int:
    """The most bytes of a line."""
    return limit(LINE_MB) * MB


def line_too_long(path: Path, line: int) -> InputError:
    most = limit(LINE_MB)
    problem = f"a line of more than {most} MB"
    return InputError(problem, expected=f"shorter lines, or {LINE_MB} above {most}", path=path, line=line)


def refuse_long_lines(data: bytes, path: Path) -> None:
    """InputError if a line of a whole file is too long; a file no longer than a line is not searched."""
    most, start = longest_line(), 0
    while len(data) - start > most:
        end = data.rfind(b"\n", start, start + most + 1)
        if end < 0:
            raise line_too_long(path, data.count(b"\n", 0, start) + 1)
        start = end + 1


def refuse_special(path: Path) -> None:
    """InputError for a pipe or a device, which may never end; a missing file is for others to refuse."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        expected = "a file or a folder, or - for standard input"
        raise InputError("is a pipe or a device", expected=expected, path=path)


class Unpacked(io.RawIOBase):
    """The bytes of a compressed file, with an InputError where they are too many for its size."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream, self._path = stream, path
        self._ratio = limit(RATIO)
        self._most = max(UNPACKED_BYTES, self._ratio * path.stat().st_size)
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = int(self._stream.readinto(buffer))
        self._counted(count)
        return count

    def readall(self) -> bytes:
        chunks = []
        while chunk := self._stream.read(_CHUNK):
            self._counted(len(chunk))
            chunks.append(chunk)
        return b"".join(chunks)

    def _counted(self, count: int) -> None:
        self._count += count
        if self._count > self._most:
            problem = f"unpacks to more than {self._ratio} times its size"
            expected = f"less, or {RATIO} above {self._ratio}"
            raise InputError(problem, expected=expected, path=self._path)


@contextmanager
def cells_of_any_size() -> Iterator[None]:
    """`csv` refuses long cells by default; here lines have a limit instead."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
