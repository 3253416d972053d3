"""Typed columns, as Parquet, Arrow and JSON have them, to `FileColumns`.

The quick reader makes no Python object per row. It gives up at anything unusual (an unexpected type, half an
origin): the careful reader then reads the same rows, and finds the same columns or the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from tailwright.data.dataset import Origin
from tailwright.data.formats.columns import (
    Cells,
    Fields,
    FileColumns,
    Numbers,
    Reference,
    References,
    oddity,
    origin_of,
)
from tailwright.data.formats.rows import NULL_LABEL, NULL_LABELS, NULL_TEXT, RowBuilder
from tailwright.errors import InputError

Converted = TypeVar("Converted")


class UnusualError(Exception):
    """The file holds something that only the careful reader can judge."""


def checked_table(table: pa.Table, path: Path) -> pa.Table:
    """The same table; an `InputError` if it has no rows or its data are damaged."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError(f"damaged data ({error})", expected="UTF-8 strings", path=path) from error
    if not len(table):
        raise no_rows(path)
    return table


def no_rows(path: Path) -> InputError:
    return InputError("no rows", expected="at least one row", path=path)


def columns_of(table: pa.Table, path: Path, fields: Fields) -> FileColumns:
    """The rows of a table of typed columns; error messages give the row's number as the line."""
    quick = columns_from_table(table, path, fields)
    return read_carefully(table, path, fields) if quick is None else quick


def read_carefully(table: pa.Table, path: Path, fields: Fields) -> FileColumns:
    """The rows one by one; an error names its row."""
    builder = RowBuilder(path, fields)
    rows = chain.from_iterable(batch.to_pylist() for batch in table.to_batches())
    for line, row in enumerate(rows, 1):
        builder.add({name: _plain(value, table.schema, name) for name, value in row.items()}, line)
    return replace(builder.build(), fields=fields)


def _plain(value: Any, schema: pa.Schema, name: str) -> Any:
    """A value with the entries of a map, which Arrow gives as pairs, as a dict."""
    return dict(value) if types.is_map(schema.field(name).type) and value is not None else value


def columns_from_table(table: pa.Table, path: Path, fields: Fields) -> FileColumns | None:
    """The columns of a table, or None if it needs the careful reader."""
    try:
        texts, null_texts = texts_of(table, fields.texts)
        if fields.labels in table.column_names:
            labels, null_labels, null_items = _labels(table[fields.labels])
        else:
            labels, null_labels, null_items = _no_labels(len(table))
        return FileColumns(
            path=path,
            texts=texts,
            labels=labels,
            relevance=_optional(table, fields.relevance, _numbers),
            weight=_optional(table, fields.weight, _weights),
            own=_optional(table, "self", _scalars),
            exclude=_optional(table, "exclude", _reference_lists),
            ignore=_optional(table, "ignore", _reference_lists),
            origin=_optional(table, "origin", partial(_origin, path=path)),
            ids=_optional(table, fields.id, _ids),
            fields=fields,
            odd=(
                *oddity(NULL_TEXT, null_texts),
                *oddity(NULL_LABELS, null_labels),
                *oddity(NULL_LABEL, null_items),
            ),
        )
    except (UnusualError, KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks or [pa.array([], type=column.type)])


def _optional(
    table: pa.Table, name: str | None, convert: Callable[[pa.Array], Converted]
) -> Converted | None:
    """A column, converted; None if it is absent or all null."""
    if name not in table.column_names or table[name].null_count == len(table):
        return None
    return convert(whole(table[name]))


def is_string(kind: pa.DataType) -> bool:
    return types.is_string(kind) or types.is_large_string(kind)


def decoded(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The column, its values in full if they are codes of a dictionary."""
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def _is_list(kind: pa.DataType) -> bool:
    return types.is_list(kind) or types.is_large_list(kind)


def _strings(column: pa.ChunkedArray) -> pa.LargeStringArray:
    column = decoded(column)
    if not is_string(column.type):
        raise UnusualError
    # Cast chunk by chunk: an array with 32-bit offsets cannot hold a large column at once.
    return whole(column.cast(pa.large_string()))


def texts_of(table: pa.Table, names: Sequence[str]) -> tuple[pa.LargeStringArray, np.ndarray]:
    """(the text of each row, its columns joined where both have words; the rows where all are null)."""
    columns = [_strings(table[name]) for name in names]
    if not columns:
        raise UnusualError
    null = np.flatnonzero(np.logical_and.reduce([_nulls(column) for column in columns]))
    first, *others = (pc.fill_null(column, "") for column in columns)
    for other in others:
        between = pc.if_else(pc.or_(pc.equal(first, ""), pc.equal(other, "")), "", " ")
        first = pc.binary_join_element_wise(first, other, between.cast(pa.large_string()))
    return first, null


def _nulls(column: pa.Array) -> np.ndarray:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def _labels(column: pa.ChunkedArray) -> tuple[References | Cells, np.ndarray, np.ndarray]:
    """(the labels, the rows where they are null, the row of each null among them)."""
    null, none = np.flatnonzero(_nulls(whole(column))), np.zeros(0, dtype=np.int64)
    if types.is_integer(column.type):
        return _scalars(whole(column)), null, none
    if not _is_list(column.type):
        return pc.fill_null(_strings(column), ""), null, none
    lists = whole(column)
    if not lists.flatten().null_count:
        return _reference_lists(lists), null, none
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    items, rows = lists.flatten(), np.repeat(np.arange(len(lists)), lengths)
    filled = ~_nulls(items)
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows[filled], minlength=len(lists)), out=offsets[1:])
    return _codes(offsets, items.drop_null()), null, rows[~filled]


def _no_labels(rows: int) -> tuple[References, np.ndarray, np.ndarray]:
    none = np.zeros(0, dtype=np.int64)
    return References(np.zeros(rows + 1, dtype=np.int64), none), none, none


def _ids(column: pa.Array) -> pa.LargeStringArray:
    column = decoded(column)
    if types.is_floating(column.type):  # how pandas writes integers beside nulls
        column = column.cast(pa.int64())
    if not (types.is_integer(column.type) or is_string(column.type)):
        raise UnusualError
    return pc.fill_null(column.cast(pa.large_string()), "")


def _reference_lists(column: pa.Array) -> References:
    return _codes(*_ragged(column))


def _codes(offsets: np.ndarray, values: pa.Array) -> References:
    if types.is_integer(values.type):
        return References(offsets, values.cast(pa.int64()).to_numpy(zero_copy_only=False))
    values = decoded(values)
    if not is_string(values.type):
        if len(values) == 0:
            return References(offsets, np.zeros(0, dtype=np.int64))
        raise UnusualError
    encoded = values.dictionary_encode()
    unique: list[Reference] = encoded.dictionary.to_pylist()
    return References(offsets, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), unique)


def _scalars(column: pa.Array) -> References:
    """One reference per row, or none where the value is null."""
    offsets = np.zeros(len(column) + 1, dtype=np.int64)
    np.cumsum(column.is_valid().to_numpy(zero_copy_only=False), out=offsets[1:])
    return _codes(offsets, column.drop_null())


def _ragged(lists: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """(offsets, items) of a list array; a null list counts as empty, a null item is unusual."""
    if not _is_list(lists.type):
        raise UnusualError
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    np.cumsum(lengths.to_numpy(zero_copy_only=False), out=offsets[1:])
    values = lists.flatten()
    if values.null_count:
        raise UnusualError
    return offsets, values


def _numbers(lists: pa.Array) -> Numbers:
    if lists.null_count:  # some rows have it and others do not
        raise UnusualError
    offsets, values = _ragged(lists)
    return Numbers(offsets, _floats(values))


def _weights(column: pa.Array) -> np.ndarray:
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), _floats(column), 1.0)


def _floats(values: pa.Array) -> np.ndarray:
    if not (types.is_floating(values.type) or types.is_integer(values.type)):
        raise UnusualError
    return values.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _origin(column: pa.Array, path: Path) -> Origin:
    if not types.is_struct(column.type):
        raise UnusualError
    rows, methods = pc.struct_field(column, "row"), decoded(pc.struct_field(column, "method"))
    if not types.is_integer(rows.type) or not is_string(methods.type):
        raise UnusualError
    # A row without an origin is an original row; half an origin is an error.
    if rows.null_count != column.null_count or methods.null_count != column.null_count:
        raise UnusualError
    numbers = pc.coalesce(rows.cast(pa.int64()), pa.array(np.arange(len(column))))
    return origin_of(numbers.to_numpy(zero_copy_only=False), pc.fill_null(methods, ""), path)
