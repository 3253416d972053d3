"""The careful reader: a Python object per row, every value checked, every error with its line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import arrow_strings
from tailwright.data.formats.columns import (
    Fields,
    FileColumns,
    Numbers,
    Reference,
    ReferenceBuilder,
    fits_int64,
    oddity,
    origin_of,
)
from tailwright.errors import InputError, quoted

NULL_TEXT = "null instead of a text"
NULL_LABELS = "null instead of labels"
NULL_LABEL = "null among the labels"


class RepeatedKeys(dict[str, Any]):
    """A JSON object with a repeated key; `repeated` is the first."""

    repeated = ""


def row_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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
        return json.loads(text, object_pairs_hook=row_object)
    except json.JSONDecodeError as error:
        problem = f"malformed JSON at column {error.colno} ({error.msg}): {quoted(text)}"
        raise InputError(problem, expected="one JSON object", path=path, line=line) from error
    except (RecursionError, ValueError) as error:  # nested too deeply, an integer of too many digits
        raise InputError(f"JSON that cannot be read: {error}", path=path, line=line) from error


def is_null(value: Any) -> bool:
    """Whether a value stands for none: null, or the NaN that pandas writes for it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


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

    def key(self, name: str, value: Any) -> str:
        """The id of a row as text, empty if there is none."""
        if isinstance(value, float) and value.is_integer():  # how pandas writes integers beside nulls
            value = int(value)
        if isinstance(value, list | dict):
            raise self.wrong(name, value, "the id of a row (a string or a number)")
        return "" if is_null(value) else self.string(name, str(value))

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


class RowBuilder:
    """Collects rows given as dicts into `FileColumns`.

    A null field counts as absent. A row without a text has an empty one and a row without labels has none;
    both are counted as odd.
    """

    def __init__(self, path: Path, fields: Fields) -> None:
        self.path, self.fields = path, fields
        self.values = Values(path)
        self.texts: list[str] = []
        self.lines: list[int] = []
        self.labels = ReferenceBuilder()
        self.label_cells: list[str] | None = None
        self.label_kind: type | None = None  # list, str, or int for one id a row; soft labels count as a list
        self.relevance_offsets = [0]
        self.relevance: list[float] = []
        self.has_relevance = False
        self.weights: list[float] = []
        self.ids: list[str] = []
        self.own, self.exclude, self.ignore = ReferenceBuilder(), ReferenceBuilder(), ReferenceBuilder()
        self.origin_rows: list[int] = []
        self.origin_methods: list[str] = []
        self.others: dict[str, None] = {}
        self.null_texts: list[int] = []
        self.null_labels: list[int] = []
        self.null_items: list[int] = []

    def add(self, row: Any, line: int) -> None:
        self.values.line = line
        if not isinstance(row, dict):
            raise self.values.wrong("a row", row, "an object with text and labels")
        if isinstance(row, RepeatedKeys) and row.repeated in self.fields.names():
            raise self.values.error(f"the field {row.repeated!r} twice", "each once")
        self._add_text(row)
        self._add_labels(row)
        name = self.fields.weight
        weight = None if name is None else row.get(name)
        self.weights.append(1.0 if weight is None else self.values.number(str(name), weight))
        if self.fields.id is not None:
            self.ids.append(self.values.key(self.fields.id, row.get(self.fields.id)))
        own = row.get("self")
        self.own.add_row([] if own is None else [self.values.reference("self", own)])
        self.exclude.add_row(self.values.reference_list("exclude", row.get("exclude")))
        self.ignore.add_row(self.values.reference_list("ignore", row.get("ignore")))
        self._add_origin(row.get("origin"))
        self.others.update(dict.fromkeys(row))
        self.lines.append(line)

    def build(self) -> FileColumns:
        """The columns of all rows; the caller makes sure that there are some."""
        lines = self.lines
        offsets = np.array(self.relevance_offsets, dtype=np.int64)
        relevance = Numbers(offsets, np.array(self.relevance, dtype=np.float64))
        methods = pa.array(self.origin_methods, type=pa.large_string())
        read = self.fields.names()
        return FileColumns(
            path=self.path,
            texts=arrow_strings(self.texts),
            labels=self.labels.build() if self.label_cells is None else arrow_strings(self.label_cells),
            line_of=lambda row: lines[row],
            relevance=relevance if self.has_relevance else None,
            weight=np.array(self.weights, dtype=np.float64),
            own=self.own.build(),
            exclude=self.exclude.build(),
            ignore=self.ignore.build(),
            origin=origin_of(np.array(self.origin_rows, dtype=np.int64), methods, self.path),
            ids=None if self.fields.id is None else arrow_strings(self.ids),
            fields=self.fields._replace(ignored=tuple(name for name in self.others if name not in read)),
            odd=(
                *oddity(NULL_TEXT, np.array(self.null_texts)),
                *oddity(NULL_LABELS, np.array(self.null_labels)),
                *oddity(NULL_LABEL, np.array(self.null_items)),
            ),
        )

    def _add_text(self, row: dict[str, Any]) -> None:
        fields = ((name, row.get(name)) for name in self.fields.texts)
        texts = [self.values.string(name, value) for name, value in fields if not is_null(value)]
        if not texts:
            self.null_texts.append(len(self.texts))
        self.texts.append(" ".join(text for text in texts if text) if len(texts) != 1 else texts[0])

    def _add_labels(self, row: dict[str, Any]) -> None:
        name = self.fields.labels
        labels, relevance = row.get(name), row.get(self.fields.relevance)
        if is_null(labels):
            self.null_labels.append(len(self.lines))
            labels = None
        else:
            self._see_kind(labels)
        if self.label_cells is not None:
            self.label_cells.append("" if labels is None else self.values.string(name, labels))
            self.labels.add_row([])
            values: list[float] = []
        elif isinstance(labels, dict):
            if relevance is not None:
                problem = f"{name} with values of their own and also {self.fields.relevance}"
                raise self.values.error(problem, "one of the two")
            references, values = self.values.soft_labels(name, labels)
            self.labels.add_row(references)
            self.has_relevance = True
        else:
            items = [] if labels is None else labels if isinstance(labels, list) else [labels]
            filled = [item for item in items if not is_null(item)]
            self.null_items.extend([len(self.lines)] * (len(items) - len(filled)))
            references = self.values.reference_list(name, filled)
            self.labels.add_row(references)
            values = [1.0] * len(references)
        if relevance is not None:
            if not isinstance(relevance, list):
                raise self.values.wrong(self.fields.relevance, relevance, "a list of numbers")
            values = [self.values.number(self.fields.relevance, value) for value in relevance]
            self.has_relevance = True
        self.relevance.extend(values)
        self.relevance_offsets.append(len(self.relevance))

    def _see_kind(self, labels: Any) -> None:
        """Labels are lists, cells or single ids, the same in all rows."""
        kind = list if isinstance(labels, list | dict) else type(labels)
        if kind not in (list, str, int):
            raise self.values.wrong(self.fields.labels, labels, "a list of labels")
        if self.label_kind is None:
            self.label_kind = kind
            if kind is str:
                self.label_cells = [""] * len(self.lines)
        if kind is not self.label_kind:
            expected = {list: "a list", str: "a delimited string", int: "a label id"}[self.label_kind]
            raise self.values.wrong(self.fields.labels, labels, f"{expected} as in the rows before")

    def _add_origin(self, origin: Any) -> None:
        if origin is None:
            self.origin_rows.append(len(self.origin_rows))
            self.origin_methods.append("")
            return
        row, method = (origin.get("row"), origin.get("method")) if isinstance(origin, dict) else (None, None)
        is_row = isinstance(row, int) and not isinstance(row, bool) and fits_int64(row)
        if not isinstance(method, str) or not is_row:
            raise self.values.wrong("origin", origin, '{"row": an integer, "method": a string}')
        self.origin_rows.append(cast(int, row))
        self.origin_methods.append(self.values.string("method", method))
