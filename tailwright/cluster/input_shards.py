"""The texts of a file, or of all files of a folder, in shards of so many rows, whoever reads them.

Every file begins a new shard, so that files can be read at once; the shards of a file are counted from its
rows, which are known before anything is labelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tailwright.data.formats.options import STDIN
from tailwright.data.formats.row_files import ROW_SUFFIXES, suffix_of
from tailwright.data.text_source import TextBlock, text_source
from tailwright.errors import InputError
from tailwright.store.manifest import MANIFEST
from tailwright.training.executor import Executor, InProcess

_LINES = ".txt"


class TextColumns(NamedTuple):
    """The columns of text and id, as `--text` and `--id` name them."""

    text: str = ""
    id: str = ""


class Surveyed(NamedTuple):
    """What is found when all rows of a file are read once."""

    rows: int
    has_ids: bool
    is_utf8: bool
    notes: tuple[str, ...]


@dataclass(frozen=True)
class InputFile:
    """A file, and which of all rows and shards are its own."""

    path: str
    rows: int
    is_utf8: bool
    first_row: int
    first_shard: int
    shards: int


class RowShard(NamedTuple):
    """Some rows that follow each other: their number among the shards, and that of the first row."""

    number: int
    first_row: int
    block: TextBlock


@dataclass(frozen=True)
class InputShards:
    """Files by name, cut into shards of `shard_rows`; the last of a file may have fewer."""

    files: tuple[InputFile, ...]
    shard_rows: int
    columns: TextColumns
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def count(self) -> int:
        """How many shards there are."""
        return sum(file.shards for file in self.files)

    def row_range(self, number: int) -> tuple[int, int]:
        """The first row of a shard, and the row after its last."""
        file = next(file for file in self.files if number < file.first_shard + file.shards)
        start = (number - file.first_shard) * self.shard_rows
        return file.first_row + start, file.first_row + min(start + self.shard_rows, file.rows)

    def asked(self) -> list[Any]:
        """What tells these inputs from others, without reading them again."""
        found = ((file, Path(file.path)) for file in self.files)
        return [
            [path.name, file.rows, *((s.st_size, s.st_mtime_ns) if (s := _status(path)) else ())]
            for file, path in found
        ]


def files_of(path: Path) -> list[Path]:
    """The file itself, or the tables and files of lines in a folder, by name; hidden files are left out."""
    if str(path) == STDIN:
        raise InputError("--on with standard input", expected="--input with a file or a folder of files")
    if not path.is_dir():
        return [path.absolute()]
    files = sorted(
        file.absolute()
        for file in path.iterdir()
        if suffix_of(file) in (*ROW_SUFFIXES, _LINES)
        and not file.name.startswith((".", "_"))
        and file.name != MANIFEST
        and file.is_file()
    )
    if not files:
        raise InputError("a folder without tables", expected="files such as *.parquet or *.jsonl", path=path)
    return files


def survey(path: Path, columns: TextColumns, shard_rows: int, executor: Executor) -> InputShards:
    """Check and count all rows, file by file; what is wrong with one is an InputError."""
    paths = [str(file) for file in files_of(path)]
    here = executor if len(paths) > 1 else InProcess()  # a worker would take longer to start
    found = dict(here.run(_surveyed, columns, paths))
    files: list[InputFile] = []
    row = shard = 0
    for number, name in enumerate(paths):
        rows, has_ids, is_utf8, _ = found[number]
        if has_ids != found[0].has_ids:
            have = ("has ids", "has none") if has_ids else ("has no ids", "has some")
            raise InputError(have[0], expected=f"the same of all files, and {paths[0]} {have[1]}", path=name)
        shards = -(-rows // shard_rows)
        files.append(InputFile(name, rows, is_utf8, row, shard, shards))
        row, shard = row + rows, shard + shards
    if not row:
        raise InputError("found no text", expected="at least one row", path=path)
    return InputShards(
        tuple(files), shard_rows, columns, _told([of_file.notes for of_file in found.values()])
    )


def shards_of(inputs: InputShards, file: InputFile, wanted: frozenset[int]) -> Iterator[RowShard]:
    """The wanted shards of a file, in order; an InputError if it is not what it was."""
    last = max(number for number in wanted if number < file.first_shard + file.shards)
    counted = file.rows if file.is_utf8 else None
    with text_source(file.path, text=inputs.columns.text, id=inputs.columns.id, rows=counted) as source:
        for place, block in enumerate(_regrouped(source.blocks(), inputs.shard_rows)):
            number = file.first_shard + place
            start, end = inputs.row_range(number)
            if len(block.texts) != end - start:
                break
            if number in wanted:
                yield RowShard(number, start, block)
            if number == last:
                return
    raise InputError("has changed", expected=f"the {file.rows:,} rows it had", path=file.path)


def _surveyed(columns: TextColumns, path: str) -> Surveyed:
    with text_source(path, text=columns.text, id=columns.id) as source:
        return Surveyed(source.rows, source.has_ids, source.is_utf8, source.notes)


def _told(notes: list[tuple[str, ...]]) -> tuple[str, ...]:
    """What reading has to say, each remark once; it says of how many files if not of all."""
    counts: dict[str, int] = {}
    for line in (line for of_file in notes for line in of_file):
        counts[line] = counts.get(line, 0) + 1
    files = len(notes)
    return tuple(
        line if count == files else f"{line} ({count:,} of {files:,} files)" for line, count in counts.items()
    )


def _regrouped(blocks: Iterable[TextBlock], rows: int) -> Iterator[TextBlock]:
    """The same texts in blocks of so many rows; the last one may have fewer."""
    kept: list[TextBlock] = []
    held = 0
    for block in blocks:
        kept.append(block)
        held += len(block.texts)
        if held < rows:
            continue
        joined = _joined(kept)
        whole = held - held % rows
        for start in range(0, whole, rows):
            yield _cut(joined, start, rows)
        held -= whole
        kept = [_cut(joined, whole, held)] if held else []
    if held:
        yield _joined(kept)


def _joined(blocks: list[TextBlock]) -> TextBlock:
    ids = [block.ids for block in blocks if block.ids is not None]
    return TextBlock(
        pa.concat_arrays([block.texts for block in blocks]), pa.concat_arrays(ids) if ids else None
    )


def _cut(block: TextBlock, start: int, rows: int) -> TextBlock:
    return TextBlock(
        block.texts.slice(start, rows), None if block.ids is None else block.ids.slice(start, rows)
    )


def _status(path: Path) -> Any:
    try:
        return path.stat()
    except OSError:  # such as a table of a database, whose path says more than a file
        return None
