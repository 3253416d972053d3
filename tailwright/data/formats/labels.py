"""The labels file: `id`, `text` and `name` of each label, in column order, and perhaps `made_weight`.

Without `id` the position is the id. Without `name` the text is the name, or the id if there is no text.
`made_weight` is the factor on the label's loss in rows that an augmentation made. `labels.txt` holds one text
per line. In the extreme-classification repository's `lbl.json`, the id is `uid`, the name is `title`, and the
text is `title` and `content`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from tailwright.data.corpus import LabelSpace
from tailwright.data.formats.columns import default_names, line_per_row, positions
from tailwright.data.formats.delimited import read_cells
from tailwright.data.formats.json_table import JsonLayout
from tailwright.data.formats.jsonl import objects, table_of
from tailwright.data.formats.parquet import read_table
from tailwright.data.formats.rows import Values
from tailwright.data.formats.source import base_name, empty_file, text_lines
from tailwright.data.formats.table import decoded, is_string, texts_of, whole
from tailwright.errors import InputError, quoted

_IDS = ("id", "uid")
_WEIGHT = "made_weight"
_COLUMNS = (*_IDS, "text", "title", "content", "name", _WEIGHT)
_EXPECTED = "the text or the name of each label"


class LabelsFile(NamedTuple):
    """The labels of a file, their weights in made rows if it has them, and whether the ids are the file's."""

    space: LabelSpace
    made_weights: np.ndarray | None = None  # (labels,) float32
    has_ids: bool = True


def read_labels(path: Path) -> LabelsFile:
    """The labels in a file of any row format, or in a text file with one label per line."""
    name = base_name(path.name)
    if name.endswith(".txt"):
        return LabelsFile(numbered_space(text_lines(path)), has_ids=False)
    line_of: Callable[[int], int] = line_per_row
    if name.endswith((".csv", ".tsv")):
        table, line_of = read_cells(path, _COLUMNS, _is_enough)
    elif name.endswith(".parquet"):
        table = read_table(path, _COLUMNS)
    else:
        table = table_of(path, _layouts_of)
        if table is None or any(table[n].null_count for n in table.column_names):
            table, line_of = _read_carefully(path)
    if not _is_enough(table.column_names):
        raise InputError(f"the columns {', '.join(table.column_names)}", expected=_EXPECTED, path=path)
    weights = None
    if _WEIGHT in table.column_names:
        weights = _weights(decoded(whole(table[_WEIGHT])), path, line_of)
    has_ids = not set(_IDS).isdisjoint(table.column_names)
    return LabelsFile(_space(table, path, line_of), weights, has_ids)


def numbered_space(texts: pa.LargeStringArray) -> LabelSpace:
    """Labels 0, 1, 2, ... with these texts."""
    ids = positions(len(texts))
    return LabelSpace(ids, default_names(ids, texts), texts)


def _text_fields(present: Iterable[str]) -> tuple[str, ...]:
    """The fields that make up the text: `text`, or else `title` and `content`."""
    names = set(present)
    return ("text",) if "text" in names else tuple(name for name in ("title", "content") if name in names)


def _is_enough(names: Iterable[str]) -> bool:
    names = set(names)
    return bool(_text_fields(names)) or "name" in names


def _layouts_of(rows: list[dict[str, Any]]) -> list[JsonLayout]:
    kinds = {name: {type(row.get(name)) for row in rows} for name in rows[0] if name in _COLUMNS}
    fields = []
    for name, kind in kinds.items():
        if kind == {int} and name in _IDS:
            fields.append((name, pa.int64()))
        elif kind == {float} and name == _WEIGHT:
            fields.append((name, pa.float64()))
        elif kind == {str} and name != _WEIGHT:
            fields.append((name, pa.large_string()))
    if len(fields) < len(kinds) or not _is_enough(kinds):
        return []
    return [JsonLayout(pa.schema(fields), "ignore", tuple(kinds))]


def _read_carefully(path: Path) -> tuple[pa.Table, Callable[[int], int]]:
    """The labels one by one; an error names its line."""
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    for line, row in objects(path):
        check = Values(path, line)
        if not isinstance(row, dict):
            raise check.wrong("a label", row, "an object with id and text")
        if not lines:
            columns = {name: [] for name in _COLUMNS if name in row}
            if not _is_enough(columns):
                raise check.error(f"the fields {', '.join(row) or 'of other names'}", _EXPECTED)
        for name, column in columns.items():
            value = row.get(name)
            if name in _IDS:
                column.append(str(check.reference(name, value)))
            elif name == _WEIGHT:
                column.append(check.number(name, value))
            else:
                column.append(None if value is None else check.string(name, value))
        lines.append(line)
    if not lines:
        raise empty_file(path)
    kinds = {name: pa.float64() if name == _WEIGHT else pa.large_string() for name in columns}
    table = pa.table({name: pa.array(column, kinds[name]) for name, column in columns.items()})
    return table, lambda row: lines[row]


def _space(table: pa.Table, path: Path, line_of: Callable[[int], int]) -> LabelSpace:
    present = table.column_names
    key = next((name for name in _IDS if name in present), None)
    ids = positions(len(table)) if key is None else _ids(whole(table[key]), path, line_of)
    strings = {name: _strings(table, name, path) for name in present if name not in (*_IDS, _WEIGHT)}
    fields = _text_fields(present) or ("name",)
    texts = strings[fields[0]]
    if fields != ("name",):
        texts = texts_of(pa.table({name: strings[name] for name in fields}), fields)[0]
    texts = pc.fill_null(texts, "")
    titles = pc.fill_null(strings["title"], "") if fields == ("title", "content") else texts
    names = default_names(ids, titles)
    return LabelSpace(ids, pc.coalesce(strings["name"], names) if "name" in present else names, texts)


def _strings(table: pa.Table, name: str, path: Path) -> pa.LargeStringArray:
    column = decoded(whole(table[name]))
    if not (is_string(column.type) or types.is_null(column.type)):
        raise InputError(f"{name} of type {column.type}", expected="strings", path=path)
    return column.cast(pa.large_string())


def _weights(column: pa.Array, path: Path, line_of: Callable[[int], int]) -> np.ndarray:
    """The weights of labels, given as numbers or as cells."""
    weights = np.zeros(len(column), dtype=np.float32)
    for row, value in enumerate(column.to_pylist()):
        try:
            with np.errstate(over="ignore", under="ignore"):
                weights[row] = value
        except (TypeError, ValueError, OverflowError):
            weights[row] = np.nan
        if not 0 < weights[row] < np.inf:
            raise Values(path, line_of(row)).wrong(_WEIGHT, value, "a number > 0")
    return weights


def _ids(column: pa.Array, path: Path, line_of: Callable[[int], int]) -> pa.LargeStringArray:
    """The ids as text; refuses duplicates."""
    column = decoded(column)
    if not (types.is_integer(column.type) or is_string(column.type)):
        raise InputError(f"label ids of type {column.type}", expected="integers or strings", path=path)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise Values(path, line_of(row)).wrong("id", None, "a label id")
    ids = column.cast(pa.large_string())
    codes = ids.dictionary_encode().indices.to_numpy()
    if len(codes) and int(codes.max()) + 1 < len(codes):
        _, first = np.unique(codes, return_index=True)
        row = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        problem = f"label id {quoted(ids[row].as_py())} a second time"
        raise Values(path, line_of(row)).error(problem, "each id once")
    return ids
