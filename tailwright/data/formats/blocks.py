"""JSON lines to an Arrow table, block by block, for files of any size.

Arrow parses a block on all cores while the next one is decompressed. The strings of all blocks go into one
growing buffer, which saves the second copy that joining the chunks of a table would take.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json

from tailwright.data.formats.source import check_utf8, opened
from tailwright.errors import InputError

# Large enough that a block's overhead does not count, small enough that two of them in memory do not either.
_BLOCK = 1 << 20
# What one core parses at a time.
_PART = 1 << 19


class Plan(NamedTuple):
    """How Arrow may read a file: the columns, and whether a row may have others ("ignore" or "error")."""

    schema: pa.Schema
    other_fields: str


class UnusualBlockError(Exception):
    """Arrow would accept what JSON lines are not, or a string is null."""


def read_blocks(path: Path, plan: Plan) -> pa.Table | None:
    """The file as a table of one row a line, or None where it does not fit the plan."""
    options = pyarrow.json.ParseOptions(
        explicit_schema=plan.schema, unexpected_field_behavior=plan.other_fields
    )
    table = _GrowingTable(plan.schema)
    workers = pa.cpu_count()
    pending: deque[Future[pa.Table]] = deque()
    try:
        with opened(path) as stream, ThreadPoolExecutor(workers) as pool:
            for block in _blocks(stream, buffers=workers + 2):
                pending.append(pool.submit(_parsed, block, options))
                if len(pending) > workers:
                    table.append(pending.popleft().result())
            while pending:
                table.append(pending.popleft().result())
    except (InputError, UnusualBlockError, pa.ArrowException):
        return None
    return table.build()


class _Block(NamedTuple):
    """Whole lines: the first `end` bytes of a buffer, which is filled anew two blocks later."""

    buffer: bytearray
    end: int


def _blocks(stream: pa.NativeFile, buffers: int) -> Iterator[_Block]:
    """The file in pieces that end with a line.

    A few buffers take turns, so that one is filled while the others are parsed: new memory for each block
    would cost more time than decompressing into it.
    """
    turns = deque(bytearray(_BLOCK) for _ in range(buffers))
    begun = b""  # of a line that the block before did not end
    while True:
        buffer = turns.popleft()
        if 2 * len(begun) > len(buffer):
            buffer = bytearray(4 * len(begun))
        turns.append(buffer)
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
    table = pyarrow.json.read_json(
        pa.BufferReader(content),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=block.end + 1),
        parse_options=options,
        # The default pool keeps several times what is alive of short-lived blocks like these.
        memory_pool=pa.system_memory_pool(),
    )
    if len(table) != _lines(block.buffer, block.end):
        raise UnusualBlockError
    return table


class _GrowingTable:
    """Rows that come in blocks: strings go into one buffer a column, other columns stay in chunks."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._strings = {field.name: _GrowingStrings() for field in schema if field.type == pa.large_string()}
        self._others: list[pa.Table] = []

    def append(self, block: pa.Table) -> None:
        for name, strings in self._strings.items():
            for chunk in block[name].chunks:
                strings.append(chunk)
        self._others.append(block.drop_columns(list(self._strings)))

    def build(self) -> pa.Table | None:
        """The table, or None if there were no rows."""
        if not self._others:
            return None
        others = pa.concat_tables(self._others)
        columns = [
            self._strings[name].build() if name in self._strings else others[name]
            for name in self._schema.names
        ]
        return pa.table(columns, names=self._schema.names)


class _GrowingStrings:
    def __init__(self) -> None:
        self._data = bytearray()
        self._offsets = [np.zeros(1, dtype=np.int64)]

    def append(self, strings: pa.LargeStringArray) -> None:
        if strings.null_count:
            raise UnusualBlockError
        _, offsets_buffer, data = strings.buffers()
        offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[strings.offset :][: len(strings) + 1]
        self._offsets.append(offsets[1:] + (len(self._data) - offsets[0]))
        if data is not None:
            self._data += memoryview(data)[offsets[0] : offsets[-1]]

    def build(self) -> pa.LargeStringArray:
        offsets = np.concatenate(self._offsets)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._data)]
        return pa.LargeStringArray.from_buffers(len(offsets) - 1, *buffers[1:])
