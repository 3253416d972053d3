"""Excel workbooks: the only filled sheet, or that of `book.xlsx?table=Sheet2`; the first row has names."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailwright.data.formats.cell_table import columns_of_cells
from tailwright.data.formats.columns import FileColumns
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.senses import fields_of
from tailwright.data.formats.source import empty_file, unreadable
from tailwright.errors import InputError, MissingExtraError, quoted


def read_workbook(path: Path, options: ReadOptions) -> FileColumns:
    """The rows of a sheet; error messages give the number of the row in the sheet."""
    lines: list[int] = []
    header: list[str] = []
    columns: dict[str, list[str]] = {}
    for line, row in _rows(path, options.table):
        cells = [cell_text(value) for value in row]
        if not any(cells):
            continue
        if not header:
            header = cells[: max(place for place, cell in enumerate(cells, 1) if cell)]
            fields = fields_of(header, options, path, line)
            if len(set(header) & set(fields.names())) < len([n for n in header if n in fields.names()]):
                raise InputError("a column twice", expected="each once", path=path, line=line)
            columns = {name: [] for name in header if name in fields.names()}
            continue
        for name, cell in zip(header, cells + [""] * len(header), strict=False):
            if name in columns:
                columns[name].append(cell)
        lines.append(line)
    if not lines:
        raise empty_file(path)
    table = pa.table({name: pa.array(cells, pa.large_string()) for name, cells in columns.items()})
    return columns_of_cells(table, path, fields, lambda row: lines[row])


def _rows(path: Path, sheet: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(number, values) of each row of a sheet."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("openpyxl, which reads workbooks,", "xlsx") from error
    # Opened here, as openpyxl leaves a file open that it cannot read.
    with _errors_of_workbooks(path), path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        if sheet and sheet not in book.sheetnames:
            expected = f"one of {', '.join(book.sheetnames)}"
            raise InputError(f"no sheet {quoted(sheet)}", expected=expected, path=path)
        filled = [name for name in book.sheetnames if any(map(any, book[name].iter_rows(values_only=True)))]
        if not sheet and len(filled) > 1:
            expected = f"which one to read: {path.name}?table={filled[0]}"
            raise InputError(f"{len(filled)} sheets: {', '.join(filled)}", expected=expected, path=path)
        if sheet or filled:
            yield from enumerate(book[sheet or filled[0]].iter_rows(values_only=True), 1)


@contextmanager
def _errors_of_workbooks(path: Path) -> Iterator[None]:
    """Turns what goes wrong with a damaged workbook, in its archive or in its XML, into one line."""
    content = (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError)
    archive = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from error
    except (*content, *archive) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"no workbook ({reason})", expected="an .xlsx file", path=path) from error


def cell_text(value: Any) -> str:
    """The value of a cell of a sheet or of a database as text, empty for none.

    >>> cell_text(7.0), cell_text(None), cell_text(date(2024, 5, 1))
    ('7', '', '2024-05-01')
    """
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.isoformat() if isinstance(value, date | datetime | time) else str(value)
