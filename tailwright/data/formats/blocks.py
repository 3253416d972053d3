"""JSON lines to an Arrow table, block by block, for files of any size.

A block is parsed while the next one is decompressed: the plainest layout by `plain_lines`, any other by
Arrow's parser on all cores. Columns grow in one buffer each, which saves the second copy that joining the
chunks of a table would take, and lets the memory of a block be used again for the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from tailwright.data.formats.plain_lines import PLAIN_SCHEMA, plain_table
from tailwright.data.formats.source import check_utf8, opened
from tailwright.errors import InputError

# Large enough that a block's overhead does not count, small enough that two of them in memory do not either.
_BLOCK = 1 << 20
# What one core parses at a time.
_PART = 1 << 19


class Plan(NamedTuple):
    """How a file may be read: its columns, whether a row may have others, which must have no nulls."""

    schema: pa.Schema
    other_fields: str  # "ignore" or "error"
    filled: tuple[str, ...]


class UnusualBlockError(Exception):
    """Arrow would accept what JSON lines are not, or a value is null that must not be."""


def read_blocks(path: Path, plan: Plan) -> pa.Table | None:
    """The file as a table of one row a line, or None where it does not fit the plan."""
    options = pyarrow.json.ParseOptions(
        explicit_schema=plan.schema, unexpected_field_behavior=plan.other_fields
    )
    table = _GrowingTable(plan)
    try:
        with opened(path) as stream, ThreadPoolExecutor(1) as ahead:
            blocks = _blocks(stream)
            coming = ahead.submit(next, blocks, None)
            while (block := coming.result()) is not None:
                coming = ahead.submit(next, blocks, None)
                plain = plain_table(*block) if plan.schema == PLAIN_SCHEMA else None
                table.append(_parsed(block, options) if plain is None else plain)
    except (InputError, UnusualBlockError, pa.ArrowException):
        return None
    return table.build()


class _Block(NamedTuple):
    """Whole lines: the first `end` bytes of a buffer, which is filled anew two blocks later."""

    buffer: bytearray
    end: int


def _blocks(stream: pa.NativeFile) -> Iterator[_Block]:
    """The file in pieces that end with a line.

    Two buffers take turns, so that one is filled while the other is parsed: new memory for each block would
    cost more time than decompressing into it.
    """
    buffer, other = bytearray(_BLOCK), bytearray(_BLOCK)
    begun = b""  # of a line that the block before did not end
    while True:
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
            yield _Block(buffer, end)
            buffer, other = other, buffer


def _lines(buffer: bytearray, end: int) -> int:
    """The number of lines in a block, or 0 where a line break is not between two objects.

    A break between "}" and "{" cannot lie inside an object, where JSON wants a comma. So where there are no
    others, and as many rows as lines, each line holds one whole object.
    """
    joints = buffer.count(b"}\n{", 0, end)
    if buffer.find(b"\r", 0, end) >= 0:
        joints += buffer.count(b"}\r\n{", 0, end)
    return joints + 1 if joints == buffer.count(b"\n", 0, end - 1) else 0


def _parsed(block: _Block, options: pyarrow.json.ParseOptions) -> pa.Table:
    content = memoryview(block.buffer)[: block.end]
    check_utf8(content)
    try:
        table = _table(content, options, _PART)
    except pa.ArrowInvalid:  # a line that is longer than a part, or anything else
        table = _table(content, options, block.end + 1)
    if len(table) != _lines(*block):
        raise UnusualBlockError
    return table


def _table(content: memoryview, options: pyarrow.json.ParseOptions, part: int) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(content),
        read_options=pyarrow.json.ReadOptions(block_size=part),
        parse_options=options,
        # The default pool keeps several times what is alive of short-lived blocks like these.
        memory_pool=pa.system_memory_pool(),
    )


class _GrowingTable:
    """Rows that come in blocks: columns without nulls grow in one buffer, others stay in chunks."""

    def __init__(self, plan: Plan) -> None:
        self._names = plan.schema.names
        self._growing = {name: _growing(plan.schema.field(name).type) for name in plan.filled}
        self._others: list[pa.Table] = []

    def append(self, block: pa.Table) -> None:
        for name, column in self._growing.items():
            for chunk in block[name].chunks:
                if chunk.null_count:
                    raise UnusualBlockError
                column.append(chunk)
        self._others.append(block.drop_columns(list(self._growing)))

    def build(self) -> pa.Table | None:
        """The table, or None if there were no rows."""
        if not self._others:
            return None
        others = pa.concat_tables(self._others)
        columns = [
            self._growing[name].build() if name in self._growing else others[name] for name in self._names
        ]
        return pa.table(columns, names=self._names)


class _Growing(Protocol):
    def append(self, chunk: pa.Array) -> None: ...
    def build(self) -> pa.Array: ...


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
        return pa.Array.from_buffers(
            self._kind, len(self._data) * 8 // self._kind.bit_width, [None, pa.py_buffer(self._data)]
        )


class _GrowingStrings:
    def __init__(self) -> None:
        self._data = bytearray()
        self._offsets = [np.zeros(1, dtype=np.int64)]

    def append(self, chunk: pa.LargeStringArray) -> None:
        _, offsets_buffer, data = chunk.buffers()
        offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[chunk.offset :][: len(chunk) + 1]
        self._offsets.append(offsets[1:] + (len(self._data) - offsets[0]))
        if data is not None:
            self._data += memoryview(data)[offsets[0] : offsets[-1]]

    def build(self) -> pa.LargeStringArray:
        offsets = np.concatenate(self._offsets)
        return pa.LargeStringArray.from_buffers(
            len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(self._data)
        )


class _GrowingLists:
    def __init__(self, items: _Growing) -> None:
        self._items = items
        self._lengths = [np.zeros(1, dtype=np.int64)]

    def append(self, chunk: pa.ListArray) -> None:
        self._lengths.append(pc.list_value_length(chunk).to_numpy())
        values = chunk.flatten()
        if values.null_count:
            raise UnusualBlockError
        self._items.append(values)

    def build(self) -> pa.LargeListArray:
        offsets = np.cumsum(np.concatenate(self._lengths), dtype=np.int64)
        return pa.LargeListArray.from_arrays(pa.array(offsets), self._items.build())
