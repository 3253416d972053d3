"""Parquet: typed columns, named as in JSON lines; `origin` is a struct of `row` and `method`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pyarrow import types
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.formats.columns import ROW_FIELDS, FileColumns, text_fields
from tailwright.data.formats.outgoing import label_references, label_rows, sink, written_columns
from tailwright.data.formats.rows import RowBuilder
from tailwright.data.formats.source import empty_file, unreadable
from tailwright.data.formats.table import columns_from_table
from tailwright.errors import InputError


def read_parquet(path: Path) -> FileColumns:
    """The rows of a file; error messages give the row's number as the line."""
    table = read_table(path, ROW_FIELDS.names())
    if not text_fields(table.column_names) or "labels" not in table.column_names:
        problem = f"the columns {', '.join(table.column_names) or 'of other names'}"
        raise InputError(problem, expected="text and labels", path=path)
    quick = columns_from_table(table, path, ROW_FIELDS)
    return read_carefully(table, path) if quick is None else quick


def read_carefully(table: pa.Table, path: Path) -> FileColumns:
    """The rows one by one; an error names its row."""
    builder = RowBuilder(path, ROW_FIELDS)
    rows = chain.from_iterable(batch.to_pylist() for batch in table.to_batches())
    for line, row in enumerate(rows, 1):
        builder.add({name: _plain(value, table.schema, name) for name, value in row.items()}, line)
    return builder.build()


def _plain(value: Any, schema: pa.Schema, name: str) -> Any:
    """A value with the entries of a map, which Arrow gives as pairs, as a dict."""
    return dict(value) if types.is_map(schema.field(name).type) and value is not None else value


def read_table(path: Path, names: tuple[str, ...]) -> pa.Table:
    """The columns of a Parquet file that are in `names`."""
    try:
        with pa.OSFile(str(path)) as raw:
            if raw.size() == 0:
                raise empty_file(path)
            file = pyarrow.parquet.ParquetFile(raw)
            table = file.read(columns=[name for name in file.schema_arrow.names if name in names])
    except OSError as error:
        raise unreadable(path, error) from error
    except pa.ArrowException as error:
        raise InputError(f"no Parquet data ({error})", expected="a Parquet file", path=path) from error
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError(f"damaged Parquet data ({error})", expected="UTF-8 strings", path=path) from error
    if not len(table):
        raise InputError("no rows", expected="at least one row", path=path)
    return table


def write_parquet(corpus: Corpus, folder: Path) -> tuple[str, ...]:
    """The splits and the labels as Parquet; nothing is lost."""
    references = label_references(corpus)
    are_integers = all(isinstance(reference, int) for reference in references)
    items = pa.array(references, type=pa.int64() if are_integers else pa.large_string())
    for split, data in corpus.splits().items():
        _write_table(folder / f"{split}.parquet", _table(data, items))
    if len(corpus.labels):
        _write_table(folder / "labels.parquet", pa.Table.from_pylist(list(label_rows(corpus))))
    return ()


def _table(data: Dataset, items: pa.Array) -> pa.Table:
    """A split as a table; `items` are the references to the labels."""
    written = written_columns(data)
    columns: dict[str, pa.Array] = {"text": data.texts, "labels": _lists(data.targets, items)}
    if "relevance" in written:
        values = pa.array(data.targets.data)
        columns["relevance"] = pa.LargeListArray.from_arrays(_offsets(data.targets), values)
    if "weight" in written:
        columns["weight"] = pa.array(data.weights)
    for name, pairs in (("exclude", data.excluded), ("ignore", data.ignored)):
        if name in written:
            columns[name] = _lists(pairs, items)
    if "origin" in written:
        methods = pa.array(data.origin.methods, pa.large_string()).take(pa.array(data.origin.codes))
        fields = [pa.array(data.origin.rows), methods]
        columns["origin"] = pa.StructArray.from_arrays(fields, ["row", "method"])
    return pa.table(columns)


def _lists(pairs: sparse.csr_array, items: pa.Array) -> pa.LargeListArray:
    return pa.LargeListArray.from_arrays(_offsets(pairs), items.take(pa.array(pairs.indices)))


def _offsets(pairs: sparse.csr_array) -> pa.Array:
    return pa.array(pairs.indptr.astype(np.int64))


def _write_table(path: Path, table: pa.Table) -> None:
    with sink(path) as out:
        pyarrow.parquet.write_table(table, out, compression="zstd")
