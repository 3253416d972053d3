"""JSON lines to an Arrow table, chunk by chunk, for files of any size.

A chunk is parsed while the next one is decompressed: the plainest lines by `plain_lines`, all others by
Arrow's parser on all cores. Each column grows in one buffer, which saves the second copy that joining an
Arrow table's chunks would take, and lets the next chunk reuse the memory of the last.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from tailwright.data.dataset import text_buffers
from tailwright.data.formats.limits import longest_line
from tailwright.data.formats.plain_lines import PLAIN_SCHEMA, plain_table
from tailwright.data.formats.source import check_utf8, opened
from tailwright.data.formats.table import UnusualError
from tailwright.errors import InputError

# Large enough for the overhead of a chunk not to matter, small enough for two of them in memory.
_CHUNK = 1 << 20
# What one core parses at a time.
_PER_CORE = 1 << 19
_OTHERS = b"other fields"


class JsonLayout(NamedTuple):
    """How a file may be read: its columns, whether a row may have other fields, which have no nulls."""

    schema: pa.Schema
    other_fields: str  # "error", "infer" to name them (`other_names`), or "ignore"
    filled: tuple[str, ...]


def other_names(table: pa.Table) -> list[str]:
    """The fields of a table's file that are not among its columns, as far as its layout names them."""
    listed = (table.schema.metadata or {}).get(_OTHERS, b"")
    return listed.decode().split("\0") if listed else []


def read_table(path: Path, layout: JsonLayout) -> pa.Table | None:
    """The file as a table with one row per line, or None where it does not fit the layout."""
    options = pyarrow.json.ParseOptions(
        explicit_schema=layout.schema, unexpected_field_behavior=layout.other_fields
    )
    table = _GrowingTable(layout)
    try:
        with opened(path) as stream, ThreadPoolExecutor(1) as ahead:
            chunks = _chunks(stream)
            following = ahead.submit(next, chunks, None)
            while (chunk := following.result()) is not None:
                following = ahead.submit(next, chunks, None)
                plain = plain_table(*chunk) if layout.schema == PLAIN_SCHEMA else None
                table.append(_parsed(chunk, options) if plain is None else plain)
    except (InputError, UnusualError, pa.ArrowException):
        return None
    return table.build()


class _Chunk(NamedTuple):
    """Complete lines: the first `end` bytes of a buffer that is filled again two chunks later."""

    buffer: bytearray
    end: int


def _chunks(stream: io.RawIOBase) -> Iterator[_Chunk]:
    """The file in chunks that end with a line.

    Two buffers take turns, one being filled while the other is parsed: new memory for each chunk would cost
    more time than decompressing into it.
    """
    buffer, other = bytearray(_CHUNK), bytearray(_CHUNK)
    most = longest_line()
    begun = b""  # the start of a line that the last chunk did not finish
    while True:
        if len(begun) > most:
            raise UnusualError  # the careful reader says which line is too long
        if 2 * len(begun) > len(buffer):
            buffer = bytearray(2 * max(len(begun), len(buffer)))
        buffer[: len(begun)] = begun
        filled = len(begun)
        while filled < len(buffer) and (count := stream.readinto(memoryview(buffer)[filled:])):
            filled += count
        if not filled:
            return
        end = filled if filled < len(buffer) else buffer.rfind(b"\n") + 1
        begun = bytes(memoryview(buffer)[end:filled])
        if end:
            yield _Chunk(buffer, end)
            buffer, other = other, buffer


def _lines(buffer: bytearray, end: int) -> int:
    """The number of lines in a chunk, or 0 if a line break does not lie between two objects.

    A break between "}" and "{" cannot lie inside an object, where JSON requires a comma. So if there are no
    other breaks, and as many rows as lines, each line holds one complete object.
    """
    joints = buffer.count(b"}\n{", 0, end)
    if buffer.find(b"\r", 0, end) >= 0:
        joints += buffer.count(b"}\r\n{", 0, end)
    return joints + 1 if joints == buffer.count(b"\n", 0, end - 1) else 0


def _parsed(chunk: _Chunk, options: pyarrow.json.ParseOptions) -> pa.Table:
    content = memoryview(chunk.buffer)[: chunk.end]
    check_utf8(content)
    try:
        table = _table(content, options, _PER_CORE)
    except pa.ArrowInvalid:  # a line that is longer than that, or anything else
        table = _table(content, options, chunk.end + 1)
    if len(table) != _lines(*chunk):
        raise UnusualError
    return table


def _table(content: memoryview, options: pyarrow.json.ParseOptions, size: int) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(content),
        read_options=pyarrow.json.ReadOptions(block_size=size),
        parse_options=options,
        # The default pool holds several times the memory in use with short-lived chunks like these.
        memory_pool=pa.system_memory_pool(),
    )


class _GrowingTable:
    """A table built chunk by chunk: columns without nulls grow in one buffer, others stay in chunks."""

    def __init__(self, layout: JsonLayout) -> None:
        self._names = layout.schema.names
        self._growing = {name: _growing(layout.schema.field(name).type) for name in layout.filled}
        self._others: list[pa.Table] = []
        self._unread: dict[str, None] = {}

    def append(self, rows: pa.Table) -> None:
        self._unread.update(dict.fromkeys(name for name in rows.column_names if name not in self._names))
        rows = rows.select(self._names)
        for name, column in self._growing.items():
            for chunk in rows[name].chunks:
                if chunk.null_count:
                    raise UnusualError
                column.append(chunk)
        self._others.append(rows.drop_columns(list(self._growing)))

    def build(self) -> pa.Table | None:
        """The table, or None if there were no rows."""
        if not self._others:
            return None
        others = pa.concat_tables(self._others)
        columns = [
            self._growing[name].build() if name in self._growing else others[name] for name in self._names
        ]
        metadata = {_OTHERS: "\0".join(self._unread)} if self._unread else None
        return pa.table(columns, names=self._names, metadata=metadata)


def _growing(kind: pa.DataType) -> _Growing:
    if pa.types.is_list(kind):
        return _GrowingLists(_growing(kind.value_type))
    return _GrowingStrings() if pa.types.is_large_string(kind) else _GrowingNumbers(kind)


class _GrowingNumbers:
    """Numbers of a type of fixed width."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind, self._data = kind, bytearray()

    def append(self, chunk: pa.Array) -> None:
        self._data += memoryview(chunk.to_numpy()).cast("B")

    def build(self) -> pa.Array:
        count = len(self._data) * 8 // self._kind.bit_width
        return pa.Array.from_buffers(self._kind, count, [None, pa.py_buffer(self._data)])


class _GrowingStrings:
    def __init__(self) -> None:
        self._data = bytearray()
        self._offsets = [np.zeros(1, dtype=np.int64)]

    def append(self, chunk: pa.LargeStringArray) -> None:
        offsets, data = text_buffers(chunk)
        self._offsets.append(offsets[1:] + (len(self._data) - offsets[0]))
        self._data += data[offsets[0] : offsets[-1]].data

    def build(self) -> pa.LargeStringArray:
        offsets, data = np.concatenate(self._offsets), pa.py_buffer(self._data)
        return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), data)


class _GrowingLists:
    def __init__(self, items: _Growing) -> None:
        self._items = items
        self._lengths = [np.zeros(1, dtype=np.int64)]

    def append(self, chunk: pa.ListArray) -> None:
        self._lengths.append(pc.list_value_length(chunk).to_numpy())
        values = chunk.flatten()
        if values.null_count:
            raise UnusualError
        self._items.append(values)

    def build(self) -> pa.LargeListArray:
        offsets = np.cumsum(np.concatenate(self._lengths), dtype=np.int64)
        return pa.LargeListArray.from_arrays(pa.array(offsets), self._items.build())


_Growing: TypeAlias = _GrowingNumbers | _GrowingStrings | _GrowingLists
