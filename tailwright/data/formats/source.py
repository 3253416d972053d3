"""A user's files: found in a folder by name; their bytes and lines, decompressed, checked to be UTF-8."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.formats.limits import (
    Unpacked,
    line_too_long,
    longest_line,
    refuse_long_lines,
    refuse_special,
)
from tailwright.errors import InputError, quoted

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
LABEL_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".txt")
# The names that people give to the files of each split.
SPLIT_NAMES = {"train": ("train",), "valid": ("valid", "dev", "validation", "val"), "test": ("test",)}
BOM = "\ufeff"
_CHUNK = 1 << 16


class NotUtf8Error(InputError):
    """A text file is not UTF-8."""


@dataclass(frozen=True)
class Folder:
    """A folder and the names of the files in it; `stand_ins` are read in place of some of them."""

    path: Path
    names: frozenset[str]
    stand_ins: Mapping[Path, Path] = field(default_factory=dict)

    @staticmethod
    def at(path: Path, stand_ins: Mapping[Path, Path]) -> Folder:
        return Folder(path, frozenset(entry.name for entry in path.iterdir()), stand_ins)

    def find(self, *names: str) -> Path | None:
        """The one file with one of these names, compressed or not; an `InputError` if there are two."""
        spelled = [name + suffix for name in names for suffix in ("", *COMPRESSIONS)]
        present = [name for name in spelled if name in self.names]
        if len(present) > 1:
            raise InputError(f"{' and '.join(present)} side by side", expected="one of them", path=self.path)
        if not present:
            return None
        found = self.path / present[0]
        refuse_special(found)
        return self.stand_ins.get(found, found)

    def has(self, *names: str) -> bool:
        return any(name + suffix in self.names for name in names for suffix in ("", *COMPRESSIONS))

    def find_labels(self) -> Path | None:
        """The labels file: in a row format, or one label per line."""
        return self.find(*(f"labels{suffix}" for suffix in LABEL_SUFFIXES))


def base_name(name: str) -> str:
    """A file's name without its compression suffix.

    >>> base_name("train.jsonl.gz")
    'train.jsonl'
    """
    for suffix in COMPRESSIONS:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


@contextmanager
def opened(path: Path) -> Iterator[io.RawIOBase]:
    """The decompressed bytes of a file as a stream; failures become an `InputError`."""
    refuse_special(path)
    try:
        with pa.OSFile(str(path)) as file:
            compression = COMPRESSIONS.get(path.suffix)
            if compression is None:
                yield file
            else:
                with pa.CompressedInputStream(file, compression) as stream:
                    yield Unpacked(stream, path)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, PermissionError):
        return InputError("no permission to read it", expected="a readable file", path=path)
    if isinstance(error, FileNotFoundError):
        return InputError("no such file or folder", path=path)
    if path.suffix in COMPRESSIONS and getattr(error, "errno", None) is None:
        kind = COMPRESSIONS[path.suffix]
        return InputError(f"truncated or damaged {kind} data", expected=f"a whole {kind} file", path=path)
    return InputError(f"cannot be read: {error}", path=path)


def read_bytes(path: Path) -> bytes:
    """The whole decompressed file without its byte order mark; an empty file is an `InputError`."""
    with opened(path) as stream:
        data = stream.read() or b""
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data:
        raise empty_file(path)
    refuse_long_lines(data, path)
    return data


def empty_file(path: Path) -> InputError:
    return InputError("an empty file", expected="at least one row", path=path)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, text without line end) of each line. An error names the line of invalid UTF-8."""
    most = longest_line()
    with opened(path) as stream:
        lines = io.BufferedReader(stream, _CHUNK)
        for number, raw in enumerate(iter(lambda: lines.readline(most + 1), b""), 1):
            line = raw.removesuffix(b"\n")
            if len(line) > most:
                raise line_too_long(path, number)
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                problem = f"bytes that are not UTF-8 ({quoted(line[error.start : error.end])[1:]})"
                expected = "UTF-8; convert the file, for instance with iconv"
                raise NotUtf8Error(problem, expected=expected, path=path, line=number) from error
            yield number, text.removesuffix("\r")


def text_lines(path: Path) -> pa.LargeStringArray:
    """All lines of a text file as one Arrow array; an empty file is an `InputError`."""
    data = read_bytes(path)
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    data = data.removesuffix(b"\n")
    refuse_unless_utf8(data, path)
    return pc.split_pattern(one_string(data), "\n").flatten()


def refuse_unless_utf8(data: bytes, path: Path) -> None:
    """InputError, with the line in `path`, if `data` is not UTF-8."""
    try:
        check_utf8(data)
    except pa.ArrowInvalid:
        for _ in numbered_lines(path):  # raises at the line
            pass
        raise


def check_utf8(data: bytes | memoryview) -> None:
    """`pa.ArrowInvalid` if `data` is not UTF-8; several times as fast as decoding it."""
    one_string(data).validate(full=True)


def one_string(data: bytes | memoryview) -> pa.LargeStringArray:
    """An array of one string over `data`, neither copied nor checked."""
    offsets = pa.array([0, len(data)], type=pa.int64()).buffers()[1]
    return pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(data))
