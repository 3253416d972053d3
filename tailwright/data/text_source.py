"""The texts of a file that are to be labelled, a block at a time, so that a file of any size can be.

| file | how it is read |
|---|---|
| csv, tsv, JSON lines, lines of text | twice, block by block: to check and count all rows, then to label |
| Parquet | block by block; the file itself says how many rows it has |
| all others | held in memory |

Lines end with a line feed, or a carriage return and a line feed; nothing else ends one, such as U+2028.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tailwright.data.dataset import arrow_strings, no_strings
from tailwright.data.formats.columns import Fields, FileColumns
from tailwright.data.formats.delimited import delimited_blocks
from tailwright.data.formats.jsonl import jsonl_blocks
from tailwright.data.formats.limits import refuse_special
from tailwright.data.formats.notes import NO_HEADER
from tailwright.data.formats.options import SQLITE, STDIN, ReadOptions, columns_in
from tailwright.data.formats.parquet import parquet_blocks
from tailwright.data.formats.row_files import ROW_SUFFIXES, read_rows, suffix_of
from tailwright.data.formats.source import NotUtf8Error, numbered_lines, unreadable
from tailwright.data.formats.standins import STANDARD_INPUT, StandIns
from tailwright.data.formats.table import columns_of, texts_of, whole
from tailwright.errors import InputError

ROWS_A_BLOCK = 512  # few, so that slow models show how far they are
_CELLS = (".csv", ".tsv")
_JSON_LINES = (".jsonl", ".json", ".ndjson")


class TextBlock(NamedTuple):
    """Some texts, and their ids if the file has any."""

    texts: pa.LargeStringArray
    ids: pa.LargeStringArray | None = None

    @staticmethod
    def of(columns: FileColumns) -> TextBlock:
        """The texts and ids of rows; the id of a row without one is empty."""
        all_empty = columns.fields.id is not None and columns.ids is None
        return TextBlock(columns.texts, no_strings(len(columns.texts)) if all_empty else columns.ids)


class TextSource(NamedTuple):
    """The texts of a file: how many they are, what reading has to say, and the blocks, from the start."""

    rows: int
    has_ids: bool
    notes: tuple[str, ...]
    blocks: Callable[[], Iterator[TextBlock]]
    is_utf8: bool = True  # else a copy is read


@contextmanager
def text_source(
    path: str | Path, *, text: str | Sequence[str] = (), id: str = "", rows: int | None = None
) -> Iterator[TextSource]:
    """The texts of a table, or of a file with one on each line; a one-line `InputError` says what is wrong.

    A file is a table by its suffix, or because `text` or `id` name columns; `-` is standard input. A file
    in UTF-8 whose `rows` were checked and counted before is not read once more for that.
    """
    texts = columns_in(text) if isinstance(text, str) else tuple(text)
    place, options = ReadOptions(texts, id=id, labelled=False).of_path(str(path))
    with tempfile.TemporaryDirectory(prefix="tailwright-") as scratch:
        if not _is_table(place, options):
            yield _lines(place, Path(scratch), rows)
            return
        stand_ins = StandIns(Path(scratch))
        found = stand_ins.read(place, lambda own: _table(stand_ins.of(own), options, rows))
        yield found._replace(notes=(*stand_ins.notes, *found.notes), is_utf8=not stand_ins.files)


def _is_table(place: str, options: ReadOptions) -> bool:
    named = bool(options.text or options.id or options.table)
    return named or place.startswith(SQLITE) or suffix_of(Path(place)) in ROW_SUFFIXES


def _lines(place: str, scratch: Path, counted: int | None) -> TextSource:
    """A text a line. Standard input is copied first, as it is read twice."""
    path = shown = Path(place)
    if place == STDIN:
        path, shown = scratch / "lines.txt", STANDARD_INPUT
        with path.open("xb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
    _refuse_missing(path)
    try:
        rows = sum(1 for _ in numbered_lines(path)) if counted is None else counted
    except NotUtf8Error as error:
        problem = "found bytes that are not UTF-8"
        raise InputError(problem, expected="UTF-8", path=shown, line=error.line) from error

    def blocks() -> Iterator[TextBlock]:
        lines = (text for _, text in numbered_lines(path))
        while some := list(islice(lines, ROWS_A_BLOCK)):
            yield TextBlock(arrow_strings(some))

    return TextSource(rows, False, (), blocks)


def _table(path: Path, options: ReadOptions, counted: int | None) -> TextSource:
    """The texts of a table, with or without labels."""
    _refuse_missing(path)
    suffix = suffix_of(path)
    if suffix == ".parquet":
        fields, rows, _ = parquet_blocks(path, options, ROWS_A_BLOCK)
        return TextSource(rows, *_taken(fields), lambda: _typed(path, options))
    if suffix in _CELLS or suffix not in ROW_SUFFIXES:
        return _counted(lambda: _of_cells(*delimited_blocks(path, options, ROWS_A_BLOCK)), counted)
    if suffix in _JSON_LINES:
        return _counted(lambda: _of_rows(*jsonl_blocks(path, options, ROWS_A_BLOCK)), counted)
    held = read_rows(path, options)
    block = TextBlock.of(held)
    return TextSource(len(held.texts), *_taken(held.fields), lambda: _sliced(block))


def _counted(read: Callable[[], tuple[Fields, Iterator[TextBlock]]], counted: int | None) -> TextSource:
    """A source that is read once now, so that what is wrong with it is said before anything is labelled.

    Unless that was done before.
    """
    fields, blocks = read()
    rows = sum(len(block.texts) for block in blocks) if counted is None else counted
    return TextSource(rows, *_taken(fields), lambda: read()[1])


def _of_cells(fields: Fields, tables: Iterator[pa.Table]) -> tuple[Fields, Iterator[TextBlock]]:
    def block(table: pa.Table) -> TextBlock:
        ids = None if fields.id is None else whole(table[fields.id])
        return TextBlock(texts_of(table, fields.texts)[0], ids)

    return fields, map(block, tables)


def _of_rows(fields: Fields, columns: Iterator[FileColumns]) -> tuple[Fields, Iterator[TextBlock]]:
    return fields, map(TextBlock.of, columns)


def _typed(path: Path, options: ReadOptions) -> Iterator[TextBlock]:
    """The blocks of a Parquet file; an error gives the number of its row in the file."""
    fields, _, tables = parquet_blocks(path, options, ROWS_A_BLOCK)
    before = 0
    for table in tables:
        try:
            yield TextBlock.of(columns_of(table, path, fields))
        except InputError as error:
            line = None if error.line is None else error.line + before
            raise InputError(error.found, expected=error.expected, path=error.path, line=line) from error
        before += len(table)


def _sliced(block: TextBlock) -> Iterator[TextBlock]:
    for start in range(0, len(block.texts), ROWS_A_BLOCK):
        ids = None if block.ids is None else block.ids.slice(start, ROWS_A_BLOCK)
        yield TextBlock(block.texts.slice(start, ROWS_A_BLOCK), ids)


def _taken(fields: Fields) -> tuple[bool, tuple[str, ...]]:
    """(whether rows have ids, which columns were taken, in a line)."""
    header = [] if fields.has_header else [NO_HEADER]
    key = [] if fields.id is None else [f"id = {fields.id}"]
    return bool(key), ("; ".join([*header, f"text = {' + '.join(fields.texts)}", *key]),)


def _refuse_missing(path: Path) -> None:
    try:
        path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    if path.is_dir():
        raise InputError("a folder", expected="a table, or a file with a text on each line", path=path)
    refuse_special(path)
