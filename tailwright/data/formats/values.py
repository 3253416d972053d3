"""Checks of the single values of a row, and JSON that remembers a repeated key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tailwright.data.formats.columns import Reference
from tailwright.errors import InputError, quoted


class RepeatedKeys(dict[str, Any]):
    """A JSON object with a repeated key; `repeated` is the first."""

    repeated = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) == len(pairs):
        return content
    marked = RepeatedKeys(content)
    keys = [key for key, _ in pairs]
    marked.repeated = next(key for place, key in enumerate(keys) if key in keys[:place])
    return marked


def parse_json(text: str, path: Path, line: int) -> Any:
    """A JSON value. NaN is accepted here; the check of its field decides."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        problem = f"malformed JSON at column {error.colno} ({error.msg}): {quoted(text)}"
        raise InputError(problem, expected="one JSON object", path=path, line=line) from error
    except (RecursionError, ValueError) as error:  # nested too deeply, an integer of too many digits
        raise InputError(f"JSON that cannot be read: {error}", path=path, line=line) from error


class Values:
    """Checks values of the row at `line` of `path`; an `InputError` names both."""

    def __init__(self, path: Path, line: int = 0) -> None:
        self.path, self.line = path, line

    def reference_list(self, name: str, value: Any, optional: bool = True) -> list[Reference]:
        if value is None and optional:
            return []
        if not isinstance(value, list):
            raise self.wrong(name, value, "a list of labels")
        return [self.reference(name, item) for item in value]

    def reference(self, name: str, value: Any) -> Reference:
        if isinstance(value, str):
            return self.string(name, value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, value, "a label id (an integer) or a label name (a string)")
        return value

    def soft_labels(self, name: str, value: dict[str, Any]) -> tuple[list[Reference], list[float]]:
        """(names, values) of an object such as {"shoes": 0.4}."""
        if isinstance(value, RepeatedKeys):
            raise self.twice(value.repeated)
        return [self.string(name, key) for key in value], [self.number(name, v) for v in value.values()]

    def number(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, value, "a number")
        try:
            return float(value)
        except OverflowError as error:
            raise self.wrong(name, value, "a number of ordinary size") from error

    def string(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.wrong(name, value, "a string")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise self.wrong(name, value, "valid Unicode (no half of a surrogate pair)") from error
        return value

    def error(self, problem: str, expected: str) -> InputError:
        return InputError(problem, expected=expected, path=self.path, line=self.line)

    def wrong(self, name: str, value: Any, expected: str) -> InputError:
        return self.error(f"{name} is {'null' if value is None else quoted(value)}", expected)

    def twice(self, label: Reference) -> InputError:
        return self.error(f"label {quoted(label)} twice in a row", "each label once")
