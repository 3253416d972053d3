"""JSON lines: an object per line, `{"text": ..., "labels": [...]}` and the optional fields of a row.

A file that is one JSON value (`json_document`) is read row by row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.data.formats.columns import ROW_FIELDS, Fields, FileColumns
from tailwright.data.formats.json_document import document_rows, is_document
from tailwright.data.formats.json_table import JsonLayout, other_names, read_table
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.outgoing import label_references, label_rows, rows_of, write_lines
from tailwright.data.formats.rows import RowBuilder, Values, parse_json
from tailwright.data.formats.senses import fields_of
from tailwright.data.formats.source import empty_file, numbered_lines
from tailwright.data.formats.table import columns_from_table
from tailwright.errors import InputError

# Rows that show which types a file uses; if a later row has another type, the careful reader takes over.
_SAMPLE = 100

_NUMBERS = pa.list_(pa.float64())
_ORIGIN = pa.struct([("row", pa.int64()), ("method", pa.large_string())])


def read_jsonl(path: Path, options: ReadOptions, known: Fields = ROW_FIELDS) -> FileColumns:
    """The rows of a file, by Arrow's parser where possible, else by the careful reader."""
    line, names = _first_names(path)
    fields = fields_of(names, options, path, line, known=known)
    table = table_of(path, lambda rows: _row_layouts(rows, fields))
    if table is not None:
        every = dict.fromkeys((*fields.ignored, *other_names(table)))
        fields = fields._replace(ignored=tuple(name for name in every if name not in fields.further))
    quick = None if table is None else columns_from_table(table, path, fields)
    return read_carefully(path, fields) if quick is None else quick


def _first_names(path: Path) -> tuple[int, list[str]]:
    """(the line of the first row, the names of all fields of the first rows)."""
    rows = list(islice(objects(path), _SAMPLE))
    if not rows:
        raise empty_file(path)
    for line, row in rows:
        if not isinstance(row, dict):
            raise Values(path, line).wrong("a row", row, "an object with text and labels")
    return rows[0][0], list(dict.fromkeys(name for _, row in rows for name in row))


def read_carefully(path: Path, fields: Fields) -> FileColumns:
    """The rows one by one; an error names its line."""
    builder = RowBuilder(path, fields)
    for line, row in objects(path):
        builder.add(row, line)
    return builder.build()


def jsonl_blocks(path: Path, options: ReadOptions, rows: int) -> tuple[Fields, Iterator[FileColumns]]:
    """(what the fields are; the rows with their texts and ids alone, so many at a time)."""
    line, names = _first_names(path)
    fields = fields_of(names, options, path, line)
    return fields, _blocks(path, fields, rows)


def _blocks(path: Path, fields: Fields, rows: int) -> Iterator[FileColumns]:
    read, kept = objects(path), fields.to_label()
    while some := list(islice(read, rows)):
        builder = RowBuilder(path, fields)
        for line, row in some:
            # What is no row, or has a field twice, is for the builder to refuse.
            plain = type(row) is dict
            builder.add({name: row.get(name) for name in kept} if plain else row, line)
        yield builder.build()


def objects(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, value) of each line that is not blank, or of each row of a document."""
    if _is_document(path):
        yield from document_rows(path)
        return
    for line, text in numbered_lines(path):
        if text and not text.isspace():
            yield line, parse_json(text, path, line)


def _is_document(path: Path) -> bool:
    first = next((text for _, text in numbered_lines(path) if text and not text.isspace()), None)
    return first is not None and is_document(first)


def table_of(path: Path, layouts_of: Callable[[list[dict[str, Any]]], list[JsonLayout]]) -> pa.Table | None:
    """The file as an Arrow table, one row per line, by the first layout that fits; None if none does.

    `layouts_of` gets the first rows.
    """
    try:
        sample = [row for _, row in islice(objects(path), _SAMPLE)]
    except InputError:
        return None
    if not sample or not all(isinstance(row, dict) for row in sample) or _is_document(path):
        return None
    layouts = layouts_of(sample)
    tables = (read_table(path, layout) for layout in layouts)
    return next((table for table in tables if table is not None), None)


def _row_layouts(rows: list[dict[str, Any]], fields: Fields) -> list[JsonLayout]:
    """First only the fields of the sample, which is quicker; then all, for fields that only appear later.

    Fields that are not read are parsed too, to know their names; if they have no type, they are skipped.
    """
    schema = _row_schema(rows, fields)
    present = {name for row in rows for name in row}
    if schema is None or fields.labels not in present:
        return []
    filled = (*(fields.texts if len(fields.texts) == 1 else ()), fields.labels)
    every = [JsonLayout(schema, others, filled) for others in ("infer", "ignore")]
    if fields.ignored:
        return every
    sampled = pa.schema([field for field in schema if field.name in present])
    return [JsonLayout(sampled, "error", filled), *every]


def _row_schema(rows: list[dict[str, Any]], fields: Fields) -> pa.Schema | None:
    """All fields that a row may have; None if the labels are objects, or ids neither integers nor strings."""
    values = [row.get(fields.labels) for row in rows]
    are_cells = any(isinstance(value, str) for value in values)
    are_single = any(isinstance(value, int) for value in values)
    if not are_cells and any(isinstance(value, dict) for value in values):
        return None
    listed = _list_type(values, pa.int64())
    labels = pa.large_string() if are_cells else pa.int64() if are_single else listed
    item = listed.value_type
    lists = {name: _list_type([row.get(name) for row in rows], item) for name in ("exclude", "ignore")}
    own = next((_item_type(row["self"]) for row in rows if row.get("self") is not None), item)
    keys = []
    if fields.id is not None:
        kinds = {type(row.get(fields.id)) for row in rows} - {type(None)}
        if not kinds <= {int} and not kinds <= {str}:
            return None
        keys = [(fields.id, pa.large_string() if kinds == {str} else pa.int64())]
    return pa.schema(
        [
            *((name, pa.large_string()) for name in fields.texts),
            (fields.labels, labels),
            (fields.relevance, _NUMBERS),
            *([] if fields.weight is None else [(fields.weight, pa.float64())]),
            ("self", own),
            *lists.items(),
            ("origin", _ORIGIN),
            *keys,
        ]
    )


def _list_type(values: list[Any], default: pa.DataType) -> pa.DataType:
    items = (item for value in values if isinstance(value, list) for item in value)
    return pa.list_(next((_item_type(item) for item in items), default))


def _item_type(item: Any) -> pa.DataType:
    return pa.large_string() if isinstance(item, str) else pa.int64()


def write_jsonl(corpus: Corpus, folder: Path, suffix: str) -> tuple[str, ...]:
    """The splits and the labels as JSON lines; nothing is lost."""
    references = label_references(corpus)
    for split, data in corpus.splits().items():
        write_objects(folder / f"{split}{suffix}", rows_of(data, references))
    if len(corpus.labels):
        write_objects(folder / f"labels{suffix}", label_rows(corpus))
    return ()


def write_objects(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))
