"""Stand-ins: files that cannot be read where they are, as UTF-8 files in a folder that reading removes again.

Standard input is one; so is a text file in UTF-16 or in Windows' cp1252. Line numbers stay the same, so an
error found in a stand-in is told of the file that it stands for.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tailwright.data.formats.options import SQLITE, STDIN
from tailwright.data.formats.source import NotUtf8Error, base_name, opened
from tailwright.errors import InputError

Found = TypeVar("Found")

STANDARD_INPUT = Path("standard input")
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# What files begin with, and the suffix that they would have.
_BEGINNINGS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"PK\x03\x04": ".xlsx",
    b"SQLite format 3": ".db",
    b"\x1f\x8b": ".gz",
    b"\x28\xb5\x2f\xfd": ".zst",
}
_FOREIGN = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\udc80-\udcff]")


@dataclass
class StandIns:
    """The stand-ins of one reading, in the folder `scratch`; `notes` says what was read in which encoding."""

    scratch: Path
    files: dict[Path, Path] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def of(self, path: Path) -> Path:
        return self.files.get(path, path)

    def read(self, place: str, reader: Callable[[Path], Found]) -> Found:
        """What a reader finds at a place; files that are not UTF-8 are read again by their stand-ins."""
        path = Path(place.removeprefix(SQLITE))
        if place == STDIN:
            path = STANDARD_INPUT
            self.add_standard_input()
        while True:
            try:
                return reader(path)
            except NotUtf8Error as error:  # noqa: PERF203 (once for each such file)
                self.decode(error)
            except InputError as error:
                raise self.told(error) from error

    def add_standard_input(self) -> Path:
        """Read all of standard input; the suffix of its stand-in is told by what it begins with."""
        data = sys.stdin.buffer.read()
        copy = self.scratch / f"input{_suffix_of(data)}"
        copy.write_bytes(data)
        if copy.suffix in (".gz", ".zst"):
            with opened(copy) as stream:
                copy = copy.rename(self.scratch / f"input{_suffix_of(stream.read() or b'')}{copy.suffix}")
        self.files[STANDARD_INPUT] = copy
        return copy

    def decode(self, error: NotUtf8Error) -> None:
        """Add a stand-in in UTF-8 for the file that is not, or raise the error if its encoding is unclear."""
        path = self.shown(error)
        if error.path in self.files:  # a stand-in that nobody looked at
            raise error
        with opened(self.of(path)) as stream:
            data = stream.read() or b""
        encoding = encoding_of(data)
        if encoding is None:
            raise error
        folder = self.scratch / str(len(self.files))
        folder.mkdir()
        copy = folder / base_name(self.of(path).name)
        copy.write_bytes(data.decode(encoding).encode())
        self.files[path] = copy
        self.notes.append(f"{path.name} is read as {encoding}")

    def shown(self, error: InputError) -> Path:
        """The user's own file that an error is about."""
        path = Path(str(error.path))
        return next((own for own, copy in self.files.items() if copy == path), path)

    def told(self, error: InputError) -> InputError:
        """The error as one of the user's own file."""
        if error.path is None or self.shown(error) == error.path:
            return error
        return InputError(error.found, expected=error.expected, path=self.shown(error), line=error.line)


def encoding_of(data: bytes) -> str | None:
    """The encoding of bytes that are not UTF-8: by their mark, or cp1252 unless they are damaged UTF-8.

    >>> encoding_of("café".encode("utf-16")), encoding_of("café".encode("cp1252"))
    ('utf-16', 'cp1252')
    >>> encoding_of("naïve café".encode() + bytes([0xff])) is None
    True
    """
    marked = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), "cp1252")
    try:
        data.decode(marked)
    except UnicodeDecodeError:
        return None
    if marked == "cp1252":
        as_utf8 = data.decode("utf-8", errors="surrogateescape")
        if len(_BEYOND_ASCII.findall(as_utf8)) >= len(_FOREIGN.findall(as_utf8)):
            return None
    return marked


def _suffix_of(data: bytes) -> str:
    """The suffix that a file with this content would have."""
    for beginning, suffix in _BEGINNINGS.items():
        if data.startswith(beginning):
            return suffix
    first = data.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    return ".jsonl" if first in (b"{", b"[") else ".txt" if b"__label__" in data else ".csv"
