"""`FileColumns`: the contents of a file, before its label references are resolved to a label space."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.dataset import Origin
from tailwright.errors import InputError

Reference = int | str  # an integer is a label's id, a string its name or else its id
Cells: TypeAlias = pa.LargeStringArray  # delimited text that is not split yet; an empty cell holds nothing

# The only way to write an integer: "007" and "+7" are names, and so are more digits than Python would read.
CANONICAL_INTEGER = "(0|-?[1-9][0-9]{0,999})"
_INTEGER = re.compile(CANONICAL_INTEGER)


def is_integer(token: str) -> bool:
    """Whether a token is an integer in canonical form, and so refers to an id."""
    return _INTEGER.fullmatch(token) is not None


def positions(count: int) -> pa.LargeStringArray:
    """The ids "0", "1", "2", ... of labels without ids."""
    return pa.array(np.arange(count)).cast(pa.large_string())


def default_names(ids: pa.LargeStringArray, texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The names of labels without names: their texts, or their ids if they have no text."""
    return pc.if_else(pc.equal(texts, ""), ids, texts)


class Fields(NamedTuple):
    """The columns of a table that make up a row; those not named here have the same name everywhere."""

    texts: tuple[str, ...] = ("text",)  # joined in this order
    labels: str = "labels"
    relevance: str = "relevance"
    weight: str | None = "weight"
    id: str | None = None
    further: tuple[str, ...] = ()  # more columns of labels
    ignored: tuple[str, ...] = ()  # what the table has besides
    has_header: bool = True  # without one, columns are called by their numbers

    def names(self) -> tuple[str, ...]:
        """All columns that are read."""
        optional = [name for name in (self.weight, self.id) if name is not None]
        labels = (self.labels, *self.further)
        return *self.texts, *labels, self.relevance, *optional, *_FIXED, "origin", *ORIGIN_CELLS

    def to_label(self) -> tuple[str, ...]:
        """The columns of rows that are to be labelled: the text, and the id if there is one."""
        return self.texts if self.id is None else (*self.texts, self.id)

    def is_plain(self) -> bool:
        """Whether all columns have the names that `docs/data.md` gives them, so that none needs a word."""
        plain = (("text",), ("title",), ("content",), ("title", "content"))
        own = self.labels in ("labels", "target_ind") and self.id in (None, "id", "uid")
        return self.texts in plain and own and not self.ignored


_FIXED = ("self", "exclude", "ignore")
ORIGIN_CELLS = ("origin_row", "origin_method")  # of tables of cells, for `origin`
ROW_FIELDS = Fields()


@dataclass(frozen=True)
class Oddity:
    """Something odd in the rows of a file that is mended or kept: what it is, how often, and where first."""

    what: str
    count: int
    row: int


def oddity(what: str, rows: np.ndarray) -> tuple[Oddity, ...]:
    """One oddity of all these rows, or none if there are no such rows."""
    return (Oddity(what, len(rows), int(rows[0])),) if len(rows) else ()


@dataclass(frozen=True)
class References:
    """Label references of all rows: those of row i are `codes[offsets[i]:offsets[i + 1]]`.

    A code is an index into `unique`, or, if that is None, the integer reference itself: large files of
    integer ids never become Python objects.
    """

    offsets: np.ndarray  # (rows + 1,) int64
    codes: np.ndarray  # (references,) int64
    unique: list[Reference] | None = None

    def row_of(self, position: int) -> int:
        return int(np.searchsorted(self.offsets, position, side="right") - 1)

    def rows(self) -> np.ndarray:
        """(references,) the row of each reference."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def at(self, position: int) -> Reference:
        code = int(self.codes[position])
        return code if self.unique is None else self.unique[code]

    def distinct(self) -> list[Reference]:
        return np.unique(self.codes).tolist() if self.unique is None else self.unique

    def integers(self) -> References:
        """The same with integer codes if every reference is an integer, else unchanged."""
        if self.unique is None or not all(isinstance(ref, int) and fits_int64(ref) for ref in self.unique):
            return self
        return References(self.offsets, np.array(self.unique, dtype=np.int64)[self.codes])


def fits_int64(number: int) -> bool:
    return -(2**63) <= number < 2**63


@dataclass(frozen=True)
class Numbers:
    """A list of numbers per row: those of row i are `values[offsets[i]:offsets[i + 1]]`."""

    offsets: np.ndarray  # (rows + 1,) int64
    values: np.ndarray  # (numbers,) float64


def line_per_row(row: int) -> int:
    """The line of a row in a file without a header."""
    return row + 1


@dataclass(frozen=True)
class FileColumns:
    """The rows of one file. `line_of(row)` is only called for error messages, so it may be slow.

    `own` is the row's own label, if it has one, which evaluation ignores like those of `exclude`.
    """

    path: Path
    texts: pa.LargeStringArray
    labels: References | Cells
    line_of: Callable[[int], int] = line_per_row
    relevance: Numbers | Cells | None = None
    weight: np.ndarray | None = None  # (rows,) float64
    own: References | Cells | None = None
    exclude: References | Cells | None = None
    ignore: References | Cells | None = None
    origin: Origin | None = None
    ids: pa.LargeStringArray | None = None
    further: tuple[References | Cells, ...] = ()  # labels of more columns, until `cells.split_all` adds them
    fields: Fields = ROW_FIELDS
    separation: str = "lists"  # how the labels of a cell were split, in words
    odd: tuple[Oddity, ...] = ()

    def error(self, row: int, problem: str, expected: str) -> InputError:
        return InputError(problem, expected=expected, path=self.path, line=self.line_of(row))

    def references(self) -> list[References]:
        """Every column of label references, once all cells are split."""
        columns = (self.labels, self.own, self.exclude, self.ignore)
        return [column for column in columns if isinstance(column, References)]


@dataclass
class ReferenceBuilder:
    """Collects references row by row."""

    offsets: list[int] = field(default_factory=lambda: [0])
    codes: list[int] = field(default_factory=list)
    places: dict[Reference, int] = field(default_factory=dict)

    def add_row(self, references: Iterable[Reference]) -> None:
        self.codes.extend(self.places.setdefault(ref, len(self.places)) for ref in references)
        self.offsets.append(len(self.codes))

    def build(self) -> References:
        offsets = np.array(self.offsets, dtype=np.int64)
        codes = np.array(self.codes, dtype=np.int64)
        return References(offsets, codes, list(self.places)).integers()


def joined_labels(
    columns: Sequence[tuple[References | None, Numbers | None]],
) -> tuple[References, Numbers | None]:
    """The labels of several columns, row by row; those without soft values have 1 where others have some."""
    known = [(labels, soft) for labels, soft in columns if labels is not None]
    if len(known) == 1:
        return known[0]
    builder = ReferenceBuilder()
    values: list[float] = []
    for row in range(len(known[0][0].offsets) - 1):
        places = [range(*labels.offsets[row : row + 2]) for labels, _ in known]
        builder.add_row(
            labels.at(place) for (labels, _), of_row in zip(known, places, strict=True) for place in of_row
        )
        for (_, soft), of_row in zip(known, places, strict=True):
            values += [1.0 if soft is None else float(soft.values[place]) for place in of_row]
    labels = builder.build()
    if all(soft is None for _, soft in known):
        return labels, None
    return labels, Numbers(labels.offsets, np.array(values))


def origin_of(rows: np.ndarray, methods: pa.Array, path: Path) -> Origin:
    """The origin of rows with source rows `rows`, each made by one of `methods` (strings, one per row)."""
    encoded = methods.dictionary_encode()
    names = tuple(encoded.dictionary.to_pylist())
    if len(names) > np.iinfo(np.int16).max:
        raise InputError(f"{len(names)} methods in origin", expected="at most 32,767", path=path)
    return Origin(rows, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int16), names)
