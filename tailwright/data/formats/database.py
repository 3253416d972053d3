"""SQLite tables: `sqlite:shop.db?table=products`, or a `.db` or `.sqlite` file that has one table."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from tailwright.data.formats.cell_table import columns_of_cells
from tailwright.data.formats.columns import FileColumns, line_per_row
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.senses import fields_of
from tailwright.data.formats.workbook import cell_text
from tailwright.errors import InputError, quoted

_AT_ONCE = 10_000


def read_database(path: Path, options: ReadOptions) -> FileColumns:
    """The rows of a table or a view; error messages give the row's number as the line."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            table = _table_name(database, options.table, path)
            names = [row[1] for row in database.execute(f"PRAGMA table_info({_quoted(table)})")]
            fields = fields_of(names, options, path)
            read = [name for name in names if name in fields.names()]
            chosen = ", ".join(map(_quoted, read))
            rows = database.execute(f"SELECT {chosen} FROM {_quoted(table)}")
            blocks = []
            while some := rows.fetchmany(_AT_ONCE):
                columns = ([cell_text(value) for value in column] for column in zip(*some, strict=True))
                blocks.append(
                    pa.table([pa.array(column, pa.large_string()) for column in columns], names=read)
                )
    except (sqlite3.Error, UnicodeDecodeError) as error:  # what SQLite says may quote damaged bytes
        raise InputError(f"no readable database ({error})", expected="a SQLite file", path=path) from error
    if not blocks:
        raise InputError(f"no rows in {table}", expected="at least one row", path=path)
    return columns_of_cells(pa.concat_tables(blocks), path, fields, line_per_row)


def _table_name(database: sqlite3.Connection, asked: str, path: Path) -> str:
    """The table that was asked for, or the only one."""
    listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
    names = [str(row[0]) for row in database.execute(listed)]
    if asked and asked not in names:
        raise InputError(f"no table {quoted(asked)}", expected=f"one of {', '.join(names)}", path=path)
    if not asked and len(names) != 1:
        expected = f"which one to read: sqlite:{path}?table=NAME"
        raise InputError(f"{len(names)} tables: {', '.join(names)}", expected=expected, path=path)
    return asked or names[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
