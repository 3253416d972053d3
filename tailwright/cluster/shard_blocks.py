"""Shards as Ray Data moves them, and what workers say of each: a line of JSON, or what is wrong in words.

A shard is one row of a block, with its texts in a list: Ray Data cuts and joins blocks between rows, as it
sees fit, so nothing ever cuts a shard.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from tailwright.cluster.input_shards import InputShards, RowShard, shards_of
from tailwright.data.text_source import TextBlock
from tailwright.errors import InputError, TailwrightError, is_memory

FILE = "file"  # the column of the blocks that reading begins with
SUMMARY = "summary"  # the column of those in the end
_PROBLEM = "problem"
_STRINGS = pa.large_list(pa.large_string())
SCHEMA = pa.schema(
    [
        ("shard", pa.int64()),
        ("first_row", pa.int64()),
        ("texts", _STRINGS),
        ("ids", _STRINGS),
        (_PROBLEM, pa.large_string()),
    ]
)


def read_shards(files: pa.Table, inputs: InputShards, wanted: frozenset[int]) -> Iterator[pa.Table]:
    """The wanted shards of files, by their places in `inputs`; a block each."""
    for place in files[FILE].to_pylist():
        try:
            for shard in shards_of(inputs, inputs.files[place], wanted):
                yield as_block(shard)
        except Exception as error:  # noqa: PERF203 (once for each file)
            yield _block(-1, -1, None, None, problem_line(error))


def as_block(shard: RowShard) -> pa.Table:
    """A shard as the one row of a block."""
    texts, ids = shard.block
    return _block(shard.number, shard.first_row, texts, ids, None)


def shard_in(block: pa.Table, row: int) -> RowShard | str:
    """The shard in a row of a block, or a line that says why there is none."""
    problem = block[_PROBLEM][row].as_py()
    if problem is not None:
        return str(problem)
    texts, ids = (block[name][row].values for name in ("texts", "ids"))
    return RowShard(block["shard"][row].as_py(), block["first_row"][row].as_py(), TextBlock(texts, ids))


def problem_line(error: Exception, where: str = "") -> str:
    """The error as a line that `raise_problem` raises again in another process."""
    is_known = isinstance(error, TailwrightError) or is_memory(error)
    said = str(error) or type(error).__name__
    return json.dumps(
        {
            _PROBLEM: f"{where}{said}" if is_known else f"{where}{type(error).__name__}: {said}",
            "of": "user" if isinstance(error, InputError) else "us" if is_known else "a bug",
        }
    )


def raise_problem(line: str) -> None:
    """Raise what a line says went wrong, if it says such a thing."""
    said = json.loads(line)
    if _PROBLEM not in said:
        return
    kinds = {"user": InputError, "us": TailwrightError, "a bug": RuntimeError}
    raise kinds[said["of"]](said[_PROBLEM])


def _block(
    number: int,
    first_row: int,
    texts: pa.LargeStringArray | None,
    ids: pa.LargeStringArray | None,
    problem: str | None,
) -> pa.Table:
    columns = [pa.array([number]), pa.array([first_row]), _list(texts), _list(ids)]
    return pa.table([*columns, pa.array([problem], pa.large_string())], schema=SCHEMA)


def _list(strings: pa.LargeStringArray | None) -> pa.LargeListArray:
    """One list of all strings, or none."""
    if strings is None:
        return pa.nulls(1, _STRINGS)
    return pa.LargeListArray.from_arrays(pa.array([0, len(strings)], pa.int64()), strings)
