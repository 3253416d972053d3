"""Which reader reads a file of rows, by its suffix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tailwright.data.formats.arrow_files import read_arrow
from tailwright.data.formats.columns import FileColumns
from tailwright.data.formats.database import read_database
from tailwright.data.formats.delimited import read_delimited
from tailwright.data.formats.jsonl import read_jsonl
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.parquet import read_parquet
from tailwright.data.formats.rows import NULL_LABEL
from tailwright.data.formats.source import base_name
from tailwright.data.formats.workbook import read_workbook

_READERS: dict[str, Callable[[Path, ReadOptions], FileColumns]] = {
    ".jsonl": read_jsonl,
    ".json": read_jsonl,
    ".ndjson": read_jsonl,
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".xlsx": read_workbook,
    ".db": read_database,
    ".sqlite": read_database,
    ".sqlite3": read_database,
}
ROW_SUFFIXES = tuple(_READERS)


def suffix_of(path: Path) -> str:
    """The suffix that tells the format: the one before that of a compression, in small letters.

    >>> suffix_of(Path("Shop.CSV.gz"))
    '.csv'
    """
    return Path(base_name(path.name)).suffix.lower()


def read_rows(path: Path, options: ReadOptions) -> FileColumns:
    """The rows of a file in one of the row formats; cells are not split yet."""
    return with_all_labels(partial(_READERS.get(suffix_of(path), read_delimited), path), options)


def with_all_labels(read: Callable[[ReadOptions], FileColumns], options: ReadOptions) -> FileColumns:
    """What `read` reads, with the labels of all columns that the options name: a reading for each of them."""
    columns = read(options)
    names = options.labels
    turns = [(*names[place:], *names[:place]) for place in range(1, len(names))]
    others = [read(replace(options, labels=turn)) for turn in turns]
    if not others:
        return columns
    # An empty cell beside a filled one is nothing odd, a null in a list is.
    odd = (each for other in others for each in other.odd if each.what == NULL_LABEL)
    return replace(columns, further=tuple(other.labels for other in others), odd=(*columns.odd, *odd))
