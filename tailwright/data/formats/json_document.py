"""A file that is one JSON value: a list of rows, an object that holds such a list, or an object of columns.

    [{"text": ...}, ...]
    {"version": 2, "data": [{"text": ...}, ...]}
    {"text": ["...", ...], "tags": [[...], ...]}
    {"text": {"0": "...", ...}, "tags": {"0": [...], ...}}     pandas' to_json()
    {"columns": ["text", ...], "data": [["...", ...], ...]}    pandas' orient="split"

Rows of a list are decoded one at a time, and an error names the line of its row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailwright.data.formats.rows import parse_json, row_object
from tailwright.data.formats.source import read_bytes, refuse_unless_utf8
from tailwright.errors import InputError, quoted

_SPACE = re.compile(r"[ \t\r\n]*")
_CUT = ("{", "[", ",", ":")  # what a line ends with if it is a part of a value that goes on
_SPLIT = {"columns", "data"}
_EXPECTED = "a list of rows, an object that has one, or an object of columns of equal length"


def is_document(line: str) -> bool:
    """Whether the first line of a file begins one value, and is not a row of its own."""
    line = line.strip()
    if line.startswith("["):
        return True
    if not line.startswith("{"):
        return False
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return line.endswith(_CUT)
    return len(content) > 0 and (_is_columns(content) or any(map(_is_rows, content.values())))


def document_rows(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, row) of each row in the document."""
    data = read_bytes(path)
    refuse_unless_utf8(data, path)
    walk = _Walk(data.decode(), path)
    del data
    if walk.next() == "[":
        yield from walk.items()
        walk.refuse_more()
        return
    content = parse_json(walk.text, path, 1)
    lists = [name for name, value in content.items() if _is_rows(value)]
    if len(lists) > 1:
        raise InputError(f"two lists of rows: {' and '.join(lists[:2])}", expected="one", path=path, line=1)
    if lists:
        yield from walk.items_of(lists[0])
    else:
        yield from ((1, row) for row in _turned(content, path))


class _Walk:
    """A place in a JSON text, which moves on value by value."""

    def __init__(self, text: str, path: Path) -> None:
        self.text, self.path = text, path
        self.at = 0
        self.counted, self.line = 0, 1
        self.decoder = json.JSONDecoder(object_pairs_hook=row_object)

    def next(self) -> str:
        """The next character that is no space; empty at the end."""
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def take(self, wanted: str) -> None:
        if self.next() not in wanted or self.at == len(self.text):
            found = (
                quoted(self.text[self.at : self.at + 20])
                if self.at < len(self.text)
                else "the end of the file"
            )
            raise InputError(found, expected=" or ".join(wanted), path=self.path, line=self.here())
        self.at += 1

    def value(self) -> Any:
        self.next()
        try:
            value, self.at = self.decoder.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            problem = f"malformed JSON at column {error.colno} ({error.msg})"
            raise InputError(problem, expected="JSON", path=self.path, line=error.lineno) from error
        except (RecursionError, ValueError) as error:  # nested too deeply, an integer of too many digits
            raise InputError(
                f"JSON that cannot be read: {error}", path=self.path, line=self.here()
            ) from error
        return value

    def items(self) -> Iterator[tuple[int, Any]]:
        """(line, item) of the list that begins here."""
        self.take("[")
        if self.next() == "]":
            self.at += 1
            return
        while True:
            self.next()
            yield self.here(), self.value()
            self.take(",]")
            if self.text[self.at - 1] == "]":
                return

    def items_of(self, name: str) -> Iterator[tuple[int, Any]]:
        """(line, item) of the list of that name in the object that begins here."""
        self.take("{")
        while self.value() != name:
            self.take(":")
            self.value()
            self.take(",")
        self.take(":")
        self.next()
        yield from self.items()

    def refuse_more(self) -> None:
        if self.next():
            problem = f"{quoted(self.text[self.at : self.at + 20])} after the list"
            raise InputError(problem, expected="the end of the file", path=self.path, line=self.here())

    def here(self) -> int:
        """The line of this place."""
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(item, dict) for item in value)


def _is_columns(content: dict[str, Any]) -> bool:
    """Whether an object has columns, and is not a row, which has a text."""
    return len(content) > 1 and all(isinstance(value, list | dict) for value in content.values())


def _turned(content: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """The rows of an object of columns."""
    if (
        content.keys() >= _SPLIT
        and isinstance(content["columns"], list)
        and isinstance(content["data"], list)
    ):
        records = content["data"]
        if not all(isinstance(record, list) and len(record) == len(content["columns"]) for record in records):
            problem = f"data that do not fit the {len(content['columns'])} columns"
            raise InputError(problem, expected=_EXPECTED, path=path, line=1)
        yield from (dict(zip(content["columns"], record, strict=True)) for record in records)
        return
    if not _is_columns(content):
        shown = ", ".join(content) or "nothing in it"
        raise InputError(f"an object with {shown}", expected=_EXPECTED, path=path, line=1)
    keys = {name: list(value) for name, value in content.items() if isinstance(value, dict)}
    columns = [list(value.values()) if isinstance(value, dict) else value for value in content.values()]
    if len({len(column) for column in columns}) > 1 or len({tuple(some) for some in keys.values()}) > 1:
        counted = ", ".join(f"{len(column)} {name}" for name, column in zip(content, columns, strict=True))
        raise InputError(counted, expected=_EXPECTED, path=path, line=1)
    yield from (dict(zip(content, record, strict=True)) for record in zip(*columns, strict=True))
