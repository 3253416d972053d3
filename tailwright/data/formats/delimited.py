"""csv and tsv: a header, then cells as in `cells.py`, delimited by a comma, a semicolon, a tab or a bar.

Quoting follows RFC 4180: a cell with a delimiter, a quote or a line break is quoted, and quotes inside it are
doubled. Annif's corpora have no header and no quoting: `text<TAB><uri> <uri>`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from tailwright.data.corpus import Corpus
from tailwright.data.formats.cell_table import columns_of_cells
from tailwright.data.formats.cells import URIS, cell_writer
from tailwright.data.formats.columns import Fields, FileColumns, Reference
from tailwright.data.formats.headerless import headerless
from tailwright.data.formats.limits import cells_of_any_size, line_too_long, longest_line
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.outgoing import label_references, label_rows, rows_of, write_lines
from tailwright.data.formats.senses import fields_of, is_understood
from tailwright.data.formats.source import (
    base_name,
    empty_file,
    numbered_lines,
    opened,
    read_bytes,
    refuse_unless_utf8,
)
from tailwright.errors import InputError, quoted

_ANNIF = re.compile(rf"[^\t]+\t{URIS}")
_CHUNK = 1 << 22
_ROWS = 1 << 16
_QUOTE = ord('"')


def read_delimited(path: Path, options: ReadOptions) -> FileColumns:
    """The rows of a csv or tsv file; label cells are left for `cells.split_all`."""
    file, fields = _described(path, options)
    table, line_of = _read(file, fields.names())
    return columns_of_cells(table, path, fields, line_of)


def delimited_blocks(path: Path, options: ReadOptions, rows: int) -> tuple[Fields, Iterator[pa.Table]]:
    """(what the columns are; those of the text and the id as strings, so many rows at a time)."""
    file, fields = _described(path, options)
    return fields, file.blocks(file.known(fields.to_label()), rows)


def _described(path: Path, options: ReadOptions) -> tuple[_DelimitedFile, Fields]:
    """The file, and what its columns are."""
    file, options = _recognised(path, options)
    fields = fields_of(file.header, options, path, 1)
    # Annif's columns have names, though there is no header.
    return file, fields._replace(has_header=file.has_header or not file.has_quotes)


def is_table(path: Path, options: ReadOptions) -> bool:
    """Whether a text file is a table whose columns can be understood."""
    file, options = _recognised(path, options)
    return is_understood(file.header, options, path)


def _recognised(path: Path, options: ReadOptions) -> tuple[_DelimitedFile, ReadOptions]:
    """(the file, what its columns are): Annif's, with a header that can be understood, or without one."""
    if _is_annif(path):
        return _DelimitedFile(path, "\t", ["text", "labels"], has_header=False, has_quotes=False), options
    separator, header = _header(path, lambda names: is_understood(names, options, path))
    if not is_understood(header, options, path):
        found = headerless(path, _marks(path), options)
        if found is not None:
            return _DelimitedFile(path, found.separator, found.names, has_header=False), found.options
    return _DelimitedFile(path, separator, header), options


def _is_annif(path: Path) -> bool:
    """Whether a file begins as Annif's corpora do: no header, a text, a tab and URIs in angle brackets."""
    first = next((text for _, text in numbered_lines(path) if text), "")
    return _ANNIF.fullmatch(first) is not None


def read_cells(
    path: Path, names: Sequence[str], is_header: Callable[[Sequence[str]], bool]
) -> tuple[pa.Table, Callable[[int], int]]:
    """(the columns of the file that are in `names`, as strings; a function from a row to its first line).

    `is_header` tells whether the column names are sufficient.
    """
    file = _DelimitedFile(path, *_header(path, is_header))
    if not is_header(file.header):
        problem = f"the columns {quoted(file.header, 200)}"
        raise InputError(problem, expected="the text or the name of each label", path=path, line=1)
    return _read(file, names)


def _read(file: _DelimitedFile, names: Sequence[str]) -> tuple[pa.Table, Callable[[int], int]]:
    """(the columns that are in `names`, as strings; a function from a row to its first line)."""
    known = file.known(names)
    table = file.read_quickly(known)
    if table is None:
        table = pa.concat_tables(file.blocks(known, _ROWS))
    if not len(table):
        raise file.without_rows()
    return table, lambda row: file.lines[row]


def _header(path: Path, is_header: Callable[[Sequence[str]], bool]) -> tuple[str, list[str]]:
    """(separator, names) of the first line, by the first separator whose columns fit, else that of most."""
    first = next((text for _, text in numbered_lines(path) if text), None)
    if first is None:
        raise empty_file(path)
    try:
        with cells_of_any_size():
            headers = {mark: next(csv.reader([first], delimiter=mark)) for mark in _marks(path)}
    except csv.Error as error:  # a carriage return in the middle, whatever the separator
        problem = f"a first line that is no record ({error})"
        raise InputError(problem, expected="cells, none with a bare line break", path=path, line=1) from error
    fitting = (mark for mark, header in headers.items() if is_header(header))
    mark = next(fitting, max(headers, key=lambda mark: len(headers[mark])))
    return mark, headers[mark]


def _marks(path: Path) -> str:
    """The separators that there are, the likeliest first."""
    return "\t,;|" if base_name(path.name).endswith(".tsv") else ",;\t|"


@dataclass(frozen=True)
class _DelimitedFile:
    path: Path
    separator: str
    header: list[str]
    has_header: bool = True
    has_quotes: bool = True  # whether quotes have a meaning

    def read_quickly(self, names: list[str]) -> pa.Table | None:
        """The columns by Arrow's parser, or None if a record is irregular."""
        data = read_bytes(self.path)
        refuse_unless_utf8(data, self.path)
        if self.has_quotes and not _cleanly_quoted(data, self.separator):
            return None
        names_given = None if self.has_header else self.header
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(data),
                read_options=pyarrow.csv.ReadOptions(block_size=_CHUNK, column_names=names_given),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.separator,
                    quote_char='"' if self.has_quotes else False,
                    newlines_in_values=self.has_quotes and b'"' in data,
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=names,
                    column_types=dict.fromkeys(self.header, pa.large_string()),
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowException:
            return None

    def known(self, names: Sequence[str]) -> list[str]:
        """The columns of the file that are in `names`; one that is there twice is refused."""
        known = [name for name in self.header if name in names]
        repeated = next((name for place, name in enumerate(known) if name in known[:place]), None)
        if repeated is not None:
            raise InputError(f"the column {repeated!r} twice", expected="each once", path=self.path, line=1)
        return known

    def without_rows(self) -> InputError:
        return InputError("a header without rows", expected="at least one row", path=self.path, line=1)

    def blocks(self, names: list[str], rows: int) -> Iterator[pa.Table]:
        """The columns record by record, so many rows at a time; an error names its line."""
        places = [self.header.index(name) for name in names]
        records, seen = self.records(), False
        while some := list(islice(records, rows)):
            seen = True
            columns = ([record[place] for _, record in some] for place in places)
            yield pa.table([pa.array(column, pa.large_string()) for column in columns], names=names)
        if not seen:
            raise self.without_rows()

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """(line number, cells) of each record after the header; blank lines are skipped."""
        end = 0
        try:
            with cells_of_any_size(), opened(self.path) as stream:
                reader = csv.reader(
                    self._lines(io.TextIOWrapper(io.BufferedReader(stream, _CHUNK), "utf-8-sig", newline="")),
                    delimiter=self.separator,
                    strict=True,
                    quoting=csv.QUOTE_MINIMAL if self.has_quotes else csv.QUOTE_NONE,
                )
                header_seen = not self.has_header
                for record in reader:
                    line, end = end + 1, reader.line_num
                    if not record or not header_seen:
                        header_seen = header_seen or bool(record)
                        continue
                    if len(record) != len(self.header):
                        where = "header" if self.has_header else "first line"
                        expected = f"{len(self.header)} as in the {where}"
                        raise InputError(f"{len(record)} cells", expected=expected, path=self.path, line=line)
                    yield line, record
        except UnicodeDecodeError:
            for _ in numbered_lines(self.path):  # raises at the line
                pass
            raise
        except csv.Error as error:
            problem = f"a wrongly quoted cell ({error})"
            expected = "closed quotes, and quotes inside a cell doubled"
            raise InputError(problem, expected=expected, path=self.path, line=end + 1) from error

    def _lines(self, file: io.TextIOWrapper) -> Iterator[str]:
        """The lines with their ends, none of them too long."""
        most = longest_line()
        for number, line in enumerate(iter(lambda: file.readline(most + 1), ""), 1):
            if len(line) > most:
                raise line_too_long(self.path, number)
            yield line

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
        write_records(folder / f"{split}{suffix}", rows, separator)
    if len(corpus.labels):
        rows = ({name: str(value) for name, value in row.items()} for row in label_rows(corpus))
        write_records(folder / f"labels{suffix}", rows, separator)
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


def write_records(path: Path, rows: Iterator[dict[str, str]], separator: str) -> None:
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
