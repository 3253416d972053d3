"""Rows of files in shards: every row once, in order, however files and shards are cut."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tailwright.cluster.input_shards import InputShards, TextColumns, files_of, shards_of, survey
from tailwright.cluster.shard_blocks import as_block, read_shards, shard_in
from tailwright.errors import InputError
from tailwright.training.executor import InProcess


def folder_with(place: Path, sizes: list[int]) -> Path:
    """A folder with a file of each size, in three formats, and things that are no rows."""
    row = 0
    for number, size in enumerate(sizes):
        rows = [{"id": f"r{row + i}", "text": f"text {row + i}"} for i in range(size)]
        row += size
        name = place / f"rows-{number:02d}"
        if number % 3 == 0:
            pa.parquet.write_table(pa.Table.from_pylist(rows), f"{name}.parquet")
        elif number % 3 == 1:
            Path(f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
        else:
            lines = "".join(f"{one['id']},{one['text']}\n" for one in rows)
            Path(f"{name}.csv").write_text(f"id,text\n{lines}")
    (place / "manifest.json").write_text("{}")
    (place / ".hidden.jsonl").write_text("nothing\n")
    (place / "_SUCCESS").touch()
    return place


def all_shards(inputs: InputShards, wanted: frozenset[int]) -> list[tuple[int, int, list[str]]]:
    return [
        (shard.number, shard.first_row, shard.block.texts.to_pylist())
        for file in inputs.files
        if wanted & set(range(file.first_shard, file.first_shard + file.shards))
        for shard in shards_of(inputs, file, wanted)
    ]


@pytest.mark.parametrize("shard_rows", [1, 4, 7, 1000])
def test_every_row_is_in_one_shard_in_the_order_of_the_files(tmp_path, shard_rows):
    place = folder_with(tmp_path, [9, 5, 8, 1])
    inputs = survey(place, TextColumns(), shard_rows, InProcess())
    found = all_shards(inputs, frozenset(range(inputs.count)))
    assert [number for number, _, _ in found] == list(range(inputs.count))
    assert [text for _, _, texts in found for text in texts] == [f"text {row}" for row in range(23)]
    assert inputs.rows == 23
    assert inputs.notes == ("text = text; id = id",)
    for number, first_row, texts in found:
        assert inputs.row_range(number) == (first_row, first_row + len(texts))
        assert len(texts) <= shard_rows


def test_shards_that_are_not_wanted_are_left_out(tmp_path):
    inputs = survey(folder_with(tmp_path, [9, 5]), TextColumns(), 4, InProcess())
    assert [number for number, _, _ in all_shards(inputs, frozenset({1, 3}))] == [1, 3]


def test_a_shard_is_a_row_that_is_read_back(tmp_path):
    inputs = survey(folder_with(tmp_path, [9]), TextColumns(), 4, InProcess())
    blocks = list(read_shards(pa.table({"file": [0]}), inputs, frozenset({0, 2})))
    assert [len(block) for block in blocks] == [1, 1]
    joined = pa.concat_tables(blocks)
    last = shard_in(joined, 1)
    assert (last.number, last.first_row) == (2, 8)
    assert last.block.texts.to_pylist() == ["text 8"]
    assert last.block.ids.to_pylist() == ["r8"]
    assert as_block(last).equals(blocks[1])


def test_a_file_that_has_changed_is_told_in_one_line(tmp_path):
    inputs = survey(folder_with(tmp_path, [9, 6]), TextColumns(), 4, InProcess())
    (tmp_path / "rows-01.jsonl").write_text('{"id": "r9", "text": "text 9"}\n')
    (block,) = read_shards(pa.table({"file": [1]}), inputs, frozenset({3, 4}))
    assert "rows-01.jsonl: has changed, expected the 6 rows it had" in shard_in(block, 0)


def test_what_cannot_be_cut_into_shards_is_one_line(tmp_path):
    with pytest.raises(InputError, match="a folder without tables"):
        files_of(tmp_path)
    with pytest.raises(InputError, match="--on with standard input"):
        files_of(Path("-"))
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "x"}\n')
    (tmp_path / "b.jsonl").write_text('{"text": "y"}\n')
    with pytest.raises(InputError, match=r"b\.jsonl: has no ids, expected the same of all files"):
        survey(tmp_path, TextColumns(), 4, InProcess())


def test_a_file_in_another_encoding_is_read_as_it_was_counted(tmp_path):
    lines = "".join(f"caf\u00e9 {number}\n" for number in range(6))
    (tmp_path / "rows.csv").write_bytes(f"text\n{lines}".encode("cp1252"))
    inputs = survey(tmp_path / "rows.csv", TextColumns(), 4, InProcess())
    assert not inputs.files[0].is_utf8
    assert all_shards(inputs, frozenset({1})) == [(1, 4, ["caf\u00e9 4", "caf\u00e9 5"])]
