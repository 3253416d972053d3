"""Parquet: typed columns, named as in JSON lines; `origin` is a struct of `row` and `method`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.formats.columns import Fields, FileColumns
from tailwright.data.formats.large_texts import has_large_texts, mapped_texts
from tailwright.data.formats.limits import refuse_special
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.outgoing import label_references, label_rows, sink, written_columns
from tailwright.data.formats.senses import fields_of
from tailwright.data.formats.source import empty_file, unreadable
from tailwright.data.formats.table import checked_table, columns_of, no_rows
from tailwright.errors import InputError


def read_parquet(path: Path, options: ReadOptions) -> FileColumns:
    """The rows of a file; error messages give the row's number as the line."""
    with _opened(path) as file:
        names = file.schema_arrow.names
        fields = fields_of(names, options, path)
        read = [name for name in names if name in fields.names()]
        texts = mapped_texts(file, path, fields.texts) if has_large_texts(file) else None
        if texts is None:
            return columns_of(checked_table(file.read(columns=read), path), path, fields)
        others = file.read(columns=[name for name in read if name not in fields.texts])
    # The columns of the text are one already; what is said of them names them all.
    one = fields._replace(texts=fields.texts[:1])
    columns = columns_of(others.append_column(one.texts[0], texts), path, one)
    return replace(columns, fields=fields)


def parquet_blocks(path: Path, options: ReadOptions, rows: int) -> tuple[Fields, int, Iterator[pa.Table]]:
    """(what the columns are; how many rows there are; the text and the id, so many rows at a time)."""
    with _opened(path) as file:
        names, count = file.schema_arrow.names, file.metadata.num_rows
    fields = fields_of(names, options, path)
    if not count:
        raise no_rows(path)
    return fields, count, _blocks(path, [name for name in names if name in fields.to_label()], rows)


def _blocks(path: Path, names: list[str], rows: int) -> Iterator[pa.Table]:
    with _opened(path) as file:
        for batch in file.iter_batches(rows, columns=names):
            yield checked_table(pa.Table.from_batches([batch]), path)


def read_table(path: Path, names: tuple[str, ...]) -> pa.Table:
    """The columns of a Parquet file that are in `names`."""
    with _opened(path) as file:
        return checked_table(file.read(columns=[n for n in file.schema_arrow.names if n in names]), path)


@contextmanager
def _opened(path: Path) -> Iterator[pyarrow.parquet.ParquetFile]:
    """A Parquet file; failures to read it become an `InputError`."""
    refuse_special(path)
    try:
        with pa.OSFile(str(path)) as raw:
            if raw.size() == 0:
                raise empty_file(path)
            yield pyarrow.parquet.ParquetFile(raw)
    except OSError as error:
        raise unreadable(path, error) from error
    except (pa.ArrowException, UnicodeDecodeError) as error:  # of a damaged name
        raise InputError(f"no Parquet data ({error})", expected="a Parquet file", path=path) from error


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
    if data.ids is not None:
        columns["id"] = data.ids
    return pa.table(columns)


def _lists(pairs: sparse.csr_array, items: pa.Array) -> pa.LargeListArray:
    return pa.LargeListArray.from_arrays(_offsets(pairs), items.take(pa.array(pairs.indices)))


def _offsets(pairs: sparse.csr_array) -> pa.Array:
    return pa.array(pairs.indptr.astype(np.int64))


def _write_table(path: Path, table: pa.Table) -> None:
    with sink(path) as out:
        pyarrow.parquet.write_table(table, out, compression="zstd")
