"""`ReadOptions`: what a user says about a table, as arguments, as flags, or behind its path.

`shop.csv?text=title,description&labels=tags` is the path of a table and what is said about it in one string,
so a run remembers how its data were read, and a study can name them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

from tailwright.errors import InputError, quoted
from tailwright.registry import unknown

SQLITE = "sqlite:"
STDIN = "-"


@dataclass(frozen=True)
class ReadOptions:
    """Columns by name, and how they are read; what is left empty is found by its name and from the data."""

    text: tuple[str, ...] = ()  # joined in this order
    labels: tuple[str, ...] = ()  # of all of them
    separator: str = ""  # between the labels of a cell; "none" if a cell is one label, "space", "tab"
    id: str = ""  # "none": not taken, whatever a column is called
    weight: str = ""  # likewise
    table: str = ""  # of a database, or the sheet of a workbook
    vocabulary: str = ""  # a file with the texts of the labels
    language: str = ""  # of the vocabulary's texts
    strict: bool = False  # odd rows are refused instead of mended
    seed: int = 0  # draws the test rows of a table that is not split
    test_share: float | None = None  # of such a table; None: a fifth
    labelled: bool = True  # without it, a table need not have labels; never behind a path

    def __post_init__(self) -> None:
        if self.test_share is not None and not 0 <= self.test_share < 1:
            raise InputError(f"test_share {self.test_share:g}", expected="a number from 0 to below 1")

    @property
    def delimiter(self) -> str | None:
        """The separator as it stands in a cell; None if there is none."""
        return {"none": None, "space": " ", "tab": "\t", "\\t": "\t"}.get(self.separator, self.separator)

    def query(self) -> str:
        """The options that were given, as they stand behind a path: `?labels=tags`."""
        given = {
            name: getattr(self, name) for name in _NAMES if getattr(self, name) != getattr(ReadOptions, name)
        }
        texts = {name: _text_of(value) for name, value in given.items()}
        return (
            "?" + "&".join(f"{name}={quote(text, safe=', ')}" for name, text in texts.items())
            if texts
            else ""
        )

    def of_path(self, path: str) -> tuple[str, ReadOptions]:
        """(the path alone, these options with those behind it); a file with a `?` in its name is a file."""
        place, mark, query = path.partition("?")
        if not mark or (not path.startswith(SQLITE) and Path(path).exists()):
            return path, self
        given: dict[str, Any] = {}
        for name, text in parse_qsl(query, keep_blank_values=True):
            if name not in _NAMES:
                raise InputError(unknown("option", name, list(_NAMES)), path=path)
            given[name] = _value_of(name, text, path)
        return place, replace(self, **given)


def columns_in(names: str) -> tuple[str, ...]:
    """Names of columns that are separated by commas.

    >>> columns_in("title, description")
    ('title', 'description')
    """
    return tuple(name.strip() for name in names.split(",") if name.strip())


_NAMES = tuple(field.name for field in fields(ReadOptions) if field.name != "labelled")


def _text_of(value: object) -> str:
    return (
        ",".join(value)
        if isinstance(value, tuple)
        else str(int(value))
        if isinstance(value, bool)
        else str(value)
    )


def _value_of(name: str, text: str, path: str) -> object:
    if name in ("text", "labels"):
        return columns_in(text)
    if name == "test_share":
        return _share_of(text, path)
    if name not in ("strict", "seed"):
        return text
    if not text.isdecimal():
        raise InputError(f"{name}={quoted(text)}", expected="a number", path=path)
    return bool(int(text)) if name == "strict" else int(text)


def _share_of(text: str, path: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"test_share={quoted(text)}", expected="a number", path=path) from None
