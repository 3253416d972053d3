"""csv and tsv: a header with `text` and `labels`, cells as in `cells.py`; origin takes two columns.

Quoting follows RFC 4180: a cell with a delimiter, a quote or a line break is quoted, and quotes inside it are
doubled. A .csv whose header is delimited by `;` or a tab is read as well.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Origin
from tailwright.data.formats.cells import cell_writer, numbers_of
from tailwright.data.formats.columns import ROW_FIELDS, FileColumns, Reference, origin_of, text_fields
from tailwright.data.formats.outgoing import label_references, label_rows, rows_of, write_lines
from tailwright.data.formats.source import (
    base_name,
    empty_file,
    numbered_lines,
    read_bytes,
    refuse_unless_utf8,
)
from tailwright.data.formats.table import texts_of, whole
from tailwright.errors import InputError, quoted

_ORIGIN = ("origin_row", "origin_method")
_CHUNK = 1 << 22
_QUOTE = ord('"')


def read_delimited(path: Path) -> FileColumns:
    """The rows of a csv or tsv file; label cells are left for `cells.split_all`."""
    names = (*(name for name in ROW_FIELDS.names() if name != "origin"), *_ORIGIN)
    table, line_of = read_cells(path, names, lambda names: bool(text_fields(names)) and "labels" in names)

    def cells(name: str) -> pa.LargeStringArray | None:
        return whole(table[name]) if name in table.column_names else None

    columns = FileColumns(path, texts_of(table), cells("labels"), line_of)
    return replace(
        columns,
        relevance=cells("relevance"),
        weight=_weights(cells("weight"), columns),
        own=cells("self"),
        exclude=cells("exclude"),
        ignore=cells("ignore"),
        origin=_origin(cells(_ORIGIN[0]), cells(_ORIGIN[1]), columns),
    )


def _weights(cells: pa.LargeStringArray | None, columns: FileColumns) -> np.ndarray | None:
    """The weights, 1 where a cell is empty."""
    if cells is None:
        return None
    given = pc.not_equal(cells, "").to_numpy(zero_copy_only=False)
    weights = np.ones(len(cells))
    numbers = cells.filter(pa.array(given))
    weights[given] = numbers_of(numbers, pa.float64(), "weight", columns, np.flatnonzero(given).tolist())
    return weights


def _origin(
    rows: pa.LargeStringArray | None, methods: pa.LargeStringArray | None, columns: FileColumns
) -> Origin | None:
    if rows is None or methods is None:
        return None
    numbers = numbers_of(rows, pa.int64(), "origin_row", columns, range(len(rows)))
    return origin_of(numbers, methods, columns.path)


def read_cells(
    path: Path, names: Sequence[str], is_header: Callable[[set[str]], bool]
) -> tuple[pa.Table, Callable[[int], int]]:
    """(the columns of the file that are in `names`, as strings; a function from a row to its first line).

    `is_header` tells whether a set of column names is sufficient.
    """
    file = _DelimitedFile(path, *_header(path, is_header))
    known = [name for name in file.header if name in names]
    repeated = next((name for place, name in enumerate(known) if name in known[:place]), None)
    if repeated is not None:
        raise InputError(f"the column {repeated!r} twice", expected="each once", path=path, line=1)
    if not is_header(set(known)):
        problem = f"the columns {quoted(file.header, 200)}"
        raise InputError(problem, expected="a text and its labels", path=path, line=1)
    table = file.read_quickly(known)
    if table is None:
        table = file.read_carefully(known)
    if not len(table):
        raise InputError("a header without rows", expected="at least one row", path=path, line=1)
    return table, lambda row: file.lines[row]


def _header(path: Path, is_header: Callable[[set[str]], bool]) -> tuple[str, list[str]]:
    """(separator, column names) of the first line."""
    tab = base_name(path.name).endswith(".tsv")
    first = next((text for _, text in numbered_lines(path) if text), None)
    if first is None:
        raise empty_file(path)
    headers = {mark: next(csv.reader([first], delimiter=mark)) for mark in ("\t" if tab else ",;\t")}
    fitting = (mark for mark, header in headers.items() if is_header(set(header)))
    mark = next(fitting, next(iter(headers)))
    return mark, headers[mark]


@dataclass(frozen=True)
class _DelimitedFile:
    path: Path
    separator: str
    header: list[str]

    def read_quickly(self, names: list[str]) -> pa.Table | None:
        """The columns by Arrow's parser, or None if a record is irregular."""
        data = read_bytes(self.path)
        refuse_unless_utf8(data, self.path)
        if not _cleanly_quoted(data, self.separator):
            return None
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(data),
                read_options=pyarrow.csv.ReadOptions(block_size=_CHUNK),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.separator, newlines_in_values=b'"' in data
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=names,
                    column_types=dict.fromkeys(self.header, pa.large_string()),
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowException:
            return None

    def read_carefully(self, names: list[str]) -> pa.Table:
        """The same, record by record; an error names its line."""
        places = [self.header.index(name) for name in names]
        columns: list[list[str]] = [[] for _ in names]
        for _, record in self.records():
            for column, place in zip(columns, places, strict=True):
                column.append(record[place])
        return pa.table({n: pa.array(c, pa.large_string()) for n, c in zip(names, columns, strict=True)})

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """(line number, cells) of each record after the header; blank lines are skipped."""
        limit = csv.field_size_limit(sys.maxsize)
        end = 0
        try:
            data = read_bytes(self.path)
            refuse_unless_utf8(data, self.path)
            text = io.StringIO(data.decode(), newline="")
            reader = csv.reader(text, delimiter=self.separator, strict=True)
            header_seen = False
            for record in reader:
                line, end = end + 1, reader.line_num
                if not record or not header_seen:
                    header_seen = header_seen or bool(record)
                    continue
                if len(record) != len(self.header):
                    expected = f"{len(self.header)} as in the header"
                    raise InputError(f"{len(record)} cells", expected=expected, path=self.path, line=line)
                yield line, record
        except csv.Error as error:
            problem = f"a wrongly quoted cell ({error})"
            expected = "closed quotes, and quotes inside a cell doubled"
            raise InputError(problem, expected=expected, path=self.path, line=end + 1) from error
        finally:
            csv.field_size_limit(limit)

    @cached_property
    def lines(self) -> list[int]:
        """The line on which each row starts."""
        return [line for line, _ in self.records()]


def _cleanly_quoted(data: bytes, separator: str) -> bool:
    """Whether quotes open only at the start of a cell and close only at its end.

    Arrow's parser is lenient about anything else, so it must not see it.
    """
    if b'"' not in data:
        return True
    # With a line break on either side, the first and last cells are like the others.
    around = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    quotes = np.flatnonzero(around == _QUOTE)
    edges = np.frombuffer(separator.encode() + b'\r\n"', dtype=np.uint8)
    opening, closing = quotes[0::2], quotes[1::2]
    return bool(
        len(quotes) % 2 == 0
        and np.isin(around[opening - 1], edges).all()
        and np.isin(around[closing + 1], edges).all()
    )


def write_delimited(corpus: Corpus, folder: Path, suffix: str) -> tuple[str, ...]:
    """The splits and the labels as csv or tsv; nothing is lost."""
    separator = "\t" if suffix == ".tsv" else ","
    references = label_references(corpus)
    label_cell = cell_writer(corpus, references)
    for split, data in corpus.splits().items():
        rows = (_flat(row, label_cell) for row in rows_of(data, references))
        _write_records(folder / f"{split}{suffix}", rows, separator)
    if len(corpus.labels):
        rows = ({name: str(value) for name, value in row.items()} for row in label_rows(corpus))
        _write_records(folder / f"labels{suffix}", rows, separator)
    return ()


def _flat(row: dict[str, Any], label_cell: Callable[[list[Reference]], str]) -> dict[str, str]:
    """A row with each field as a cell."""
    cells: dict[str, str] = {}
    for name, value in row.items():
        if name == "origin":
            cells |= {"origin_row": str(value["row"]), "origin_method": value["method"]}
        elif name in ("labels", "exclude", "ignore"):
            cells[name] = label_cell(value)
        elif name == "relevance":
            cells[name] = "|".join(map(repr, value))
        else:
            cells[name] = value if isinstance(value, str) else repr(value)
    return cells


def _write_records(path: Path, rows: Iterator[dict[str, str]], separator: str) -> None:
    """Write a header and the cells of each row; all rows have the same fields."""
    special = re.compile(f'[{separator}"\r\n]')

    def lines() -> Iterator[str]:
        for number, row in enumerate(rows):
            if number == 0:
                yield separator.join(row)
            yield separator.join(
                '"' + cell.replace('"', '""') + '"' if special.search(cell) else cell for cell in row.values()
            )

    write_lines(path, lines())
