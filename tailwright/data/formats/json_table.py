"""JSON lines to an Arrow table, by Arrow's parser on all cores."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.json

from tailwright.data.formats.source import check_utf8, read_bytes
from tailwright.errors import InputError

_CHUNK = 1 << 20  # what one core parses at a time


class JsonLayout(NamedTuple):
    """How a file may be read: its columns, and whether a row may have other fields."""

    schema: pa.Schema
    other_fields: str  # "ignore" or "error"


def read_table(path: Path, layout: JsonLayout) -> pa.Table | None:
    """The file as a table with one row per line, or None where it does not fit the layout."""
    options = pyarrow.json.ParseOptions(
        explicit_schema=layout.schema, unexpected_field_behavior=layout.other_fields
    )
    try:
        data = read_bytes(path)
        check_utf8(data)
        try:
            table = _parsed(data, options, _CHUNK)
        except pa.ArrowInvalid:  # a line that is longer than that, or anything else
            table = _parsed(data, options, len(data) + 1)
    except (InputError, OverflowError, pa.ArrowException):
        return None
    return table if len(table) == _lines(data) else None


def _parsed(data: bytes, options: pyarrow.json.ParseOptions, size: int) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(data),
        read_options=pyarrow.json.ReadOptions(block_size=size),
        parse_options=options,
        # The default pool holds several times the memory in use with short-lived chunks like these.
        memory_pool=pa.system_memory_pool(),
    )


def _lines(data: bytes) -> int:
    """The number of lines, or 0 if a line break does not lie between two objects.

    A break between "}" and "{" cannot lie inside an object, where JSON requires a comma. So if there are no
    other breaks, and as many rows as lines, each line holds one complete object.
    """
    joints = data.count(b"}\n{") + data.count(b"}\r\n{")
    return joints + 1 if joints == data.count(b"\n", 0, len(data) - 1) else 0
