"""`Table`: a table of a TOML file that knows where it stands, so that an error can say so."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailwright.errors import InputError, quoted
from tailwright.registry import unknown


@dataclass(frozen=True)
class Table:
    """Values by key; `place` is the table's name in the file, empty at the top."""

    values: Mapping[str, Any]
    path: Path
    place: str = ""
    source: str = ""

    def wrong(self, found: str, expected: str | None = None) -> InputError:
        where = f"[{self.place}] " if self.place else ""
        return InputError(where + found, expected=expected, path=self.path)

    def refuse_other_keys(self, known: Sequence[str]) -> None:
        for key in self.values:
            self.refuse_unknown("key", key, known)

    def refuse_unknown(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = list(known)
        if name not in known:
            raise self.wrong(unknown(kind, name, known))

    def text(self, key: str, default: str | None = None) -> str:
        return str(self._typed(key, default, (str,), "text"))

    def switch(self, key: str, default: bool) -> bool:
        return bool(self._typed(key, default, (bool,), "true or false"))

    def number(self, key: str, default: float) -> float:
        return float(self._typed(key, default, (int, float), "a number"))

    def names(self, key: str, default: Sequence[str]) -> list[str]:
        """A list of texts that is not empty; a single text counts as a list."""
        given = self.values.get(key, list(default))
        listed = [given] if isinstance(given, str) else given
        if not isinstance(listed, list) or not listed or not all(isinstance(name, str) for name in listed):
            raise self.wrong(f"{key}: found {quoted(given)}", "a list of texts")
        return listed

    def tables(self, key: str) -> dict[str, Any]:
        """The tables under `key`, at least one."""
        given = self.values.get(key, {})
        if not isinstance(given, dict) or not given:
            raise self.wrong(f"{key}: found {quoted(given)}", f"a table for each, such as [{key}.NAME]")
        return given

    def below(self, *names: str) -> Table:
        """The table under `names`; an InputError for anything else."""
        values: Any = self.values
        for name in names:
            values = values[name]
        place = ".".join(name if name.replace("-", "").isalnum() else f'"{name}"' for name in names)
        if not isinstance(values, dict):
            raise self.wrong(f"{place}: found {quoted(values)}", "a table")
        return Table(values, self.path, place)

    def _typed(self, key: str, default: Any, kinds: tuple[type, ...], expected: str) -> Any:
        if key not in self.values and default is None:
            raise self.wrong(f"{key} is missing", expected)
        given = self.values.get(key, default)
        # A bool is an int to Python, and is neither a number nor a text here.
        if not isinstance(given, kinds) or (isinstance(given, bool) and bool not in kinds):
            raise self.wrong(f"{key}: found {quoted(given)}", expected)
        return given


def read_table(path: Path) -> Table:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        source = path.read_text(encoding="utf-8")
        return Table(tomllib.loads(source), path, source=source)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"found no TOML ({error})", path=path) from error
