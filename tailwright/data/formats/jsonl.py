"""JSON lines: an object per line, `{"text": ..., "labels": [...]}` and the optional fields of a row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.data.formats.columns import ROW_FIELDS, Fields, FileColumns, text_fields
from tailwright.data.formats.json_table import JsonLayout, read_table
from tailwright.data.formats.outgoing import label_references, label_rows, rows_of, write_lines
from tailwright.data.formats.rows import RowBuilder, parse_json
from tailwright.data.formats.source import empty_file, numbered_lines
from tailwright.data.formats.table import columns_from_table
from tailwright.errors import InputError

# Rows that show which types a file uses; if a later row has another type, the careful reader takes over.
_SAMPLE = 100

_NUMBERS = pa.list_(pa.float64())
_ORIGIN = pa.struct([("row", pa.int64()), ("method", pa.large_string())])


def read_jsonl(path: Path, fields: Fields = ROW_FIELDS) -> FileColumns:
    """The rows of a file, by Arrow's parser where possible, else by the careful reader."""
    table = table_of(path, lambda rows: _row_layouts(rows, fields))
    quick = None if table is None else columns_from_table(table, path, fields)
    return read_carefully(path, fields) if quick is None else quick


def read_carefully(path: Path, fields: Fields) -> FileColumns:
    """The rows one by one; an error names its line."""
    builder = RowBuilder(path, fields)
    for line, row in objects(path):
        builder.add(row, line)
    if not builder.lines:
        raise empty_file(path)
    return builder.build()


def objects(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, value) of each line that is not blank."""
    for line, text in numbered_lines(path):
        if text and not text.isspace():
            if line == 1 and text.lstrip().startswith("["):
                raise InputError("a JSON list", expected="one JSON object per line", path=path, line=1)
            yield line, parse_json(text, path, line)


def table_of(path: Path, layouts_of: Callable[[list[dict[str, Any]]], list[JsonLayout]]) -> pa.Table | None:
    """The file as an Arrow table, one row per line, by the first layout that fits; None if none does.

    `layouts_of` gets the first rows.
    """
    try:
        sample = [row for _, row in islice(objects(path), _SAMPLE)]
    except InputError:
        return None
    layouts = layouts_of(sample) if sample and all(isinstance(row, dict) for row in sample) else []
    tables = (read_table(path, layout) for layout in layouts)
    return next((table for table in tables if table is not None), None)


def _row_layouts(rows: list[dict[str, Any]], fields: Fields) -> list[JsonLayout]:
    """First only the fields of the sample, which is quicker; then all, for fields that only appear later."""
    schema = _row_schema(rows, fields)
    present = {name for row in rows for name in row}
    if schema is None or fields.labels not in present:
        return []
    filled = tuple(name for name in ("text", fields.labels) if name in schema.names)
    every = JsonLayout(schema, "ignore", filled)
    if not present <= set(schema.names):
        return [every]
    sampled = pa.schema([field for field in schema if field.name in present])
    return [JsonLayout(sampled, "error", filled), every]


def _row_schema(rows: list[dict[str, Any]], fields: Fields) -> pa.Schema | None:
    """All fields that a row may have; None if the labels are objects."""
    values = [row.get(fields.labels) for row in rows]
    are_cells = isinstance(values[0], str)
    if not are_cells and any(isinstance(value, dict) for value in values):
        return None
    labels = pa.large_string() if are_cells else _list_type(values, pa.int64())
    item = pa.int64() if are_cells else labels.value_type
    lists = {name: _list_type([row.get(name) for row in rows], item) for name in ("exclude", "ignore")}
    own = next((_item_type(row["self"]) for row in rows if row.get("self") is not None), item)
    texts = [(name, pa.large_string()) for name in text_fields(rows[0])]
    return pa.schema(
        [
            *texts,
            (fields.labels, labels),
            (fields.relevance, _NUMBERS),
            ("weight", pa.float64()),
            ("self", own),
            *lists.items(),
            ("origin", _ORIGIN),
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
