"""Rows that a program holds: lists, frames, Arrow tables, `datasets`, label matrices; to `FileColumns`.

They become the same columns as the rows of a file, so that columns are found, labels resolved, odd rows
mended and mistakes told by the same code. Errors count rows from 0, as Python does.

A column goes through Arrow. What Arrow cannot take, such as sets or values of several types, is read row by
row; so are soft labels in dicts, of which Arrow would make a column for each label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.formats.arrow_files import columns_of_tables, split_of
from tailwright.data.formats.columns import Fields, FileColumns, Numbers, References
from tailwright.data.formats.options import ReadOptions, columns_in
from tailwright.data.formats.row_files import with_all_labels
from tailwright.data.formats.rows import RowBuilder
from tailwright.data.formats.senses import fields_of
from tailwright.data.formats.table import checked_table, columns_from_table
from tailwright.errors import InputError, quoted

# A path, texts, a (texts, labels) pair, a table (pandas, Arrow, polars, `datasets`), or tables by split.
Source: TypeAlias = Any
# A list of names, a dict of soft values, or one label for each row; or a matrix (rows, labels).
RowLabels: TypeAlias = Any

_ROWS = Path("rows")  # stands for a file in errors
_EXPECTED = "texts and their labels, a table, tables by split, or a path"


class ReadArguments(TypedDict, total=False):
    """The arguments of `tailwright.read`, which functions that take data pass on to it."""

    text: str | Sequence[str]
    labels: str | RowLabels
    label_names: Sequence[str]
    label_texts: Mapping[Any, str] | None
    separator: str
    id: str
    weight: str
    vocabulary: str | Path
    language: str
    strict: bool
    test_share: float | None


@dataclass(frozen=True)
class HeldRows:
    """The rows of each split, what was said about them, and the number of labels if a matrix says that."""

    files: dict[str, FileColumns]
    options: ReadOptions
    width: int | None = None


def is_path(data: Source) -> bool:
    """Whether data are to be read from files."""
    return isinstance(data, str | Path)


def as_pair(data: Source, labels: str | RowLabels) -> tuple[Source, str | RowLabels]:
    """(texts, labels) of a pair of both; anything else is left as it is.

    >>> as_pair((["red shoes"], [["shoes"]]), "")
    (['red shoes'], [['shoes']])
    """
    is_pair = isinstance(data, tuple) and len(data) == 2 and not isinstance(data[0], str)
    if not is_pair:
        return data, labels
    if not isinstance(labels, str) or labels:
        raise InputError("found a pair of texts and labels, and also labels=", expected="one of the two")
    return data[0], data[1]


def named_columns(data: Source, labels: str | RowLabels) -> tuple[str, ...] | None:
    """The columns that `labels` names; None if it holds the labels of texts themselves.

    A list of strings names columns beside a path or a table, and labels beside texts.

    >>> named_columns("shop.csv", ["category", "tags"]), named_columns(["red shoes"], ["shoes"])
    (('category', 'tags'), None)
    """
    if isinstance(labels, str):
        return columns_in(labels)
    named = isinstance(labels, list | tuple) and all(isinstance(name, str) for name in labels)
    return tuple(labels) if named and (is_path(data) or _has_columns(data)) else None


def held_rows(data: Source, labels: str | RowLabels, options: ReadOptions) -> HeldRows:
    """The rows of texts with their labels, of a table, or of tables by split."""
    columns = named_columns(data, labels)
    if columns is not None:
        options = replace(options, labels=columns)
        return HeldRows(_tables(data, options), options)
    if _has_columns(data):
        raise InputError("found a table, and labels of its rows", expected="labels= with a column's name")
    texts = _listed(data, "texts")
    if sparse.issparse(labels) or (isinstance(labels, np.ndarray) and labels.ndim == 2):
        of_matrix, width = _with_matrix(texts, labels, options)
        return HeldRows({"train": of_matrix}, options, width)
    rows = _listed(labels, "labels")
    _refuse_lengths(len(texts), len(rows))
    listed = _columns({"text": texts, "labels": rows}, options, _ROWS)
    if not options.separator and not isinstance(listed.labels, References):
        options = replace(options, separator="none")  # a string is a label, whatever is in it
    return HeldRows({"train": listed}, options)


@contextmanager
def errors_of_rows() -> Iterator[None]:
    """Errors inside say `row 3` where those of a file give its path and line."""
    try:
        yield
    except InputError as error:
        if error.path is None:
            raise
        places = [] if error.path == _ROWS else [str(error.path)]
        places += [] if error.line is None else [f"row {error.line - 1}"]
        raise InputError(error.found, expected=error.expected, path=", ".join(places) or None) from error


def _has_columns(data: Source) -> bool:
    """Whether data are a table, or tables by split."""
    return _is_table(data) or isinstance(data, Mapping)


def _is_table(data: Source) -> bool:
    return hasattr(data, "columns") or hasattr(data, "column_names")


def _tables(data: Source, options: ReadOptions) -> dict[str, FileColumns]:
    if isinstance(data, Mapping):
        splits = {split_of(str(name)): table for name, table in data.items()}
        if "train" not in splits:
            raise InputError(f"found {', '.join(splits) or 'no tables'}", expected="train among the splits")
        return {
            split: with_all_labels(partial(_table, table, Path(split)), options)
            for split, table in splits.items()
        }
    return {"train": with_all_labels(partial(_table, data, _ROWS), options)}


def _table(data: Source, place: Path, options: ReadOptions) -> FileColumns:
    if not _is_table(data):
        raise InputError(f"found {_kind(data)} without labels", expected=_EXPECTED)
    if hasattr(data, "with_format"):  # of `datasets`; rows in its own order, which a selection changes
        features = data.features.to_dict()
        return columns_of_tables([data.with_format("arrow")[:]], place, options, features)
    if hasattr(data, "iloc"):  # of pandas
        names = [str(name) for name in data.columns]
        if len(set(names)) < len(names):
            raise InputError(f"the columns {', '.join(names)}", expected="each name once", path=place)
        return _columns({name: data.iloc[:, at] for at, name in enumerate(names)}, options, place)
    try:
        table = pa.table(data)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(f"found {_kind(data)}", expected="a table that Arrow can take") from error
    return columns_of_tables([table], place, options, {})


def _columns(named: Mapping[str, Any], options: ReadOptions, place: Path) -> FileColumns:
    """The rows of columns by name, each of any values."""
    fields = fields_of(list(named), options, place)
    taken = {name: column for name, column in named.items() if name in fields.names()}
    quick = None
    if not any(isinstance(value, Mapping) for value in taken[fields.labels]):
        quick = _through_arrow(taken, fields, place)
    return _row_by_row(taken, fields, place) if quick is None else quick


def _through_arrow(columns: Mapping[str, Any], fields: Fields, place: Path) -> FileColumns | None:
    """The columns as Arrow takes them; None if it does not."""
    try:
        table = pa.table({name: _arrow(column) for name, column in columns.items()})
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        return None
    return columns_from_table(checked_table(table, place), place, fields)


def _arrow(column: Any) -> pa.Array | pa.ChunkedArray:
    held = isinstance(column, pa.Array | pa.ChunkedArray)
    return column if held else pa.array(column, from_pandas=True)


def _row_by_row(columns: Mapping[str, Any], fields: Fields, place: Path) -> FileColumns:
    builder = RowBuilder(place, fields)
    lists = [column.to_pylist() if hasattr(column, "to_pylist") else column for column in columns.values()]
    for row, values in enumerate(zip(*lists, strict=True)):
        builder.add({name: _plain(value) for name, value in zip(columns, values, strict=True)}, row + 1)
    return replace(builder.build(), fields=fields)


def _plain(value: Any) -> Any:
    """A value in the types of JSON: lists for arrays, tuples and sets, numbers for those of NumPy.

    >>> _plain(np.array([1, 2])), _plain(("a", np.int64(3))), _plain({"b", "a"})
    ([1, 2], ['a', 3], ['a', 'b'])
    """
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=str)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    # pandas' own null is equal to nothing, not even to itself, and cannot be asked whether it is.
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _with_matrix(texts: Sequence[Any], labels: RowLabels, options: ReadOptions) -> tuple[FileColumns, int]:
    """(the rows, the number of labels) of texts and a matrix (texts, labels) of values, 0 for no label."""
    if labels.dtype.kind not in "biuf":
        raise InputError(f"found a matrix of labels of type {labels.dtype}", expected="numbers in [0, 1]")
    matrix = sparse.csr_array(labels, copy=True)
    _refuse_lengths(len(texts), matrix.shape[0])
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    columns = _columns({"text": texts, "labels": [[]] * len(texts)}, options, _ROWS)
    offsets = matrix.indptr.astype(np.int64)
    references = References(offsets, matrix.indices.astype(np.int64))
    values = Numbers(offsets, matrix.data.astype(np.float64))
    return replace(columns, labels=references, relevance=values), matrix.shape[1]


def _listed(values: Any, what: str) -> Sequence[Any]:
    """Values in a row, as a list or a column; anything else is an `InputError`."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__") or _is_table(values):
        raise InputError(f"found {_kind(values)} for {what}", expected=f"a list of {what}")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InputError(f"found {what} of shape {values.shape}", expected=f"a list of {what}")
    streams = hasattr(values, "__arrow_c_stream__") and not hasattr(values, "iloc")  # a column of polars
    return pa.chunked_array(values) if streams else values


def _refuse_lengths(texts: int, labels: int) -> None:
    if texts != labels:
        raise InputError(f"found {texts:,} texts and labels of {labels:,} rows", expected="as many of both")


def _kind(data: object) -> str:
    """A value as errors call it: `DataFrame`, `3 (int)`."""
    name = type(data).__name__
    return f"{quoted(data, 40)} ({name})" if isinstance(data, str | bytes | int | float) else f"a {name}"
