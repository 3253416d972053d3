"""Label references to a label space and datasets: one resolver for all formats."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from scipy import sparse

from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.formats.columns import (
    FileColumns,
    Numbers,
    Oddity,
    Reference,
    References,
    oddity,
    positions,
)
from tailwright.data.pairs import pairs_from_arrays
from tailwright.errors import quoted

UNKNOWN, BLANK = -2, -1


def space_of(files: Mapping[str, FileColumns]) -> LabelSpace:
    """The label space of files without a labels file: every label that is referred to, sorted.

    Integers are sorted as numbers and have no text; names are sorted as text and serve as texts too. Blanks
    around a name are no part of it.
    """
    columns = [(file, references) for file in files.values() for references in file.references()]
    distinct = {reference for _, references in columns for reference in references.distinct()}
    if all(isinstance(reference, int) for reference in distinct):
        for file, references in columns:
            _refuse_negative(file, references)
        ids = arrow_strings([str(number) for number in sorted(distinct, key=int)])
        return LabelSpace(ids, ids, arrow_strings([""] * len(ids)))
    names = {str(reference).strip() for reference in distinct}
    return LabelSpace(arrow_strings(sorted(name for name in names if name)))


def joined(name: str) -> str:
    """A name as one token: `_` in place of each space.

    >>> joined("red shoes")
    'red_shoes'
    """
    return "".join("_" if character.isspace() else character for character in name)


def _refuse_negative(file: FileColumns, references: References) -> None:
    integers = references.codes if references.unique is None else np.zeros(0, dtype=np.int64)
    if (integers < 0).any():
        position = int(np.flatnonzero(integers < 0)[0])
        raise file.error(references.row_of(position), f"label id {integers[position]}", "an id >= 0")


@dataclass(frozen=True)
class LabelIndex:
    """Finds the column of a reference: an integer is an id, a string is a name or else an id.

    With `by_position`, integers are columns, whatever the ids; with `by_token`, a name may have `_` in place
    of its spaces. `path` is the labels file, for errors.
    """

    space: LabelSpace
    path: Path | None = None
    by_position: bool = False
    by_token: bool = False

    def columns_of(self, references: References) -> np.ndarray:
        """(references,) int64: the column of each, `UNKNOWN` for none."""
        if references.unique is None:
            return self._columns_of_integers(references.codes)
        table = np.array([self.column_of(ref) for ref in references.unique], dtype=np.int64)
        return table[references.codes]

    def _columns_of_integers(self, integers: np.ndarray) -> np.ndarray:
        if self.by_position or self._is_numbered:
            inside = (integers >= 0) & (integers < len(self.space))
            return integers if bool(inside.all()) else np.where(inside, integers, UNKNOWN)
        distinct, codes = np.unique(integers, return_inverse=True)
        columns = [self.space.index_of_id.get(str(number), UNKNOWN) for number in distinct.tolist()]
        return np.array(columns, dtype=np.int64)[codes]

    def column_of(self, reference: Reference) -> int:
        """The column of one reference, `UNKNOWN` for none."""
        if isinstance(reference, int):
            if self.by_position:
                return reference if 0 <= reference < len(self.space) else UNKNOWN
            return self.space.index_of_id.get(str(reference), UNKNOWN)
        if self.by_position or reference in self.shared_names:
            return UNKNOWN
        column = self._index_of_name.get(reference)
        if column is None:
            column = self.space.index_of_id.get(reference, UNKNOWN)
        return self._index_of_token.get(reference, UNKNOWN) if column == UNKNOWN and self.by_token else column

    def column_of_trimmed(self, reference: Reference) -> int:
        """The column of a name without the blanks around it, `BLANK` if nothing is left."""
        if isinstance(reference, int) or self.by_position or reference in self.shared_names:
            return UNKNOWN
        trimmed = reference.strip()
        return self.column_of(trimmed) if trimmed else BLANK

    @cached_property
    def _is_numbered(self) -> bool:
        return bool(self.space.ids.equals(positions(len(self.space))))

    @cached_property
    def _index_of_name(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.space.names.to_pylist())}

    @cached_property
    def _index_of_token(self) -> dict[str, int]:
        return {joined(name): column for name, column in self._index_of_name.items()}

    @cached_property
    def shared_names(self) -> set[str]:
        """Names that several labels share."""
        if len(self._index_of_name) == len(self.space):
            return set()
        names = self.space.names.to_pylist()
        return {name for column, name in enumerate(names) if self._index_of_name[name] != column}

    def unknown(self, reference: Reference) -> tuple[str, str]:
        """What is wrong with a reference to no label, and what was expected."""
        where = "the labels" if self.path is None else self.path.name
        last = len(self.space) - 1
        if isinstance(reference, int):
            numbered = self.by_position or self._is_numbered
            expected = f"an id in 0..{last}" if numbered else f"an id in {where}"
            return f"label id {reference}", expected
        if self.by_position:
            return f"label {quoted(reference)}", f"a position in 0..{last}"
        if reference in self.shared_names:
            problem = f"label name {quoted(reference)}, which two labels share"
            return problem, "a name of one label, or an id"
        # Comparing with each of a million names would take minutes.
        similar = [name for name in self._index_of_name if abs(len(name) - len(reference)) <= 2][:50_000]
        near = difflib.get_close_matches(reference, similar, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"unknown label {quoted(reference)}", f"a name or an id in {where}{hint}"


class Resolved(NamedTuple):
    """The dataset of a file, and what was odd in it."""

    data: Dataset
    odd: tuple[Oddity, ...]


def dataset_of(columns: FileColumns, index: LabelIndex) -> Resolved:
    """The dataset of one file; every reference, soft value and weight is checked here.

    A label twice in a row counts once, with its larger value; blanks around a name are ignored.
    """
    references = columns.labels
    assert isinstance(references, References)
    values = _soft_values(columns, references)
    labels, blanks = _label_columns(columns, references, index)
    offsets, repeats = references.offsets, np.zeros(0, dtype=np.int64)
    if not _is_rising(labels, offsets):
        kept, offsets, repeats = once(labels, references.rows(), values, len(columns.texts))
        labels, values = labels[kept], values[kept]
    optional: dict[str, Any] = {
        "weights": _weights(columns),
        "ignored": _marks(columns, [columns.ignore], index),
        "excluded": _marks(columns, [columns.own, columns.exclude], index),
        "origin": columns.origin,
        "ids": columns.ids,
    }
    empty = pc.invert(pc.match_substring_regex(columns.texts, r"\S")).to_numpy(zero_copy_only=False)
    odd = (
        *columns.odd,
        *oddity("an empty text", np.flatnonzero(empty)),
        *oddity("a label twice in a row", repeats),
        *oddity("blanks around a label", blanks),
    )
    targets = pairs_from_arrays(values, labels, offsets, len(index.space))
    return Resolved(Dataset(columns.texts, targets, **optional), odd)


def _label_columns(
    columns: FileColumns, references: References, index: LabelIndex
) -> tuple[np.ndarray, np.ndarray]:
    """(the column of each reference, the rows of names with blanks around them).

    A name that is blank has the column `BLANK`; an unknown one is an `InputError`.
    """
    labels = index.columns_of(references)
    if not len(labels) or int(labels.min()) != UNKNOWN:
        return labels, np.zeros(0, dtype=np.int64)
    unknown = np.flatnonzero(labels == UNKNOWN)
    labels[unknown] = [index.column_of_trimmed(references.at(int(position))) for position in unknown]
    wrong = unknown[labels[unknown] == UNKNOWN]
    if len(wrong):
        position = int(wrong[0])
        raise columns.error(references.row_of(position), *index.unknown(references.at(position)))
    return labels, references.rows()[unknown]


def _is_rising(labels: np.ndarray, offsets: np.ndarray) -> bool:
    """Whether no row has a label twice or a blank one, as the labels of each row ascend."""
    if not len(labels):
        return True
    rising = labels[1:] > labels[:-1]
    starts = offsets[1:-1]
    rising[starts[(starts > 0) & (starts < len(labels))] - 1] = True
    return bool(rising.all()) and int(labels.min()) != BLANK


def once(
    labels: np.ndarray, rows: np.ndarray, values: np.ndarray, height: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(the places that stay, their offsets, the rows that name a label again)."""
    order = np.lexsort((-values, labels, rows))
    order = order[labels[order] != BLANK]
    again = (np.diff(labels[order], prepend=BLANK) == 0) & (np.diff(rows[order], prepend=-1) == 0)
    kept = order[~again]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=height))])
    return kept, offsets, rows[order[again]]


def _soft_values(columns: FileColumns, labels: References) -> np.ndarray:
    relevance = columns.relevance
    if relevance is None:
        return np.ones(len(labels.codes), dtype=np.float32)
    assert isinstance(relevance, Numbers)
    given, wanted = np.diff(relevance.offsets), np.diff(labels.offsets)
    if not np.array_equal(given, wanted):
        row = int(np.flatnonzero(given != wanted)[0])
        raise columns.error(row, f"{given[row]} relevance values for {wanted[row]} labels", "as many")
    values = relevance.values
    with np.errstate(over="ignore", under="ignore"):
        narrow = values.astype(np.float32)
    good = (narrow > 0) & (values <= 1)
    if not good.all():
        position = int(np.argmin(good))
        problem = f"soft value {values[position]} of label {quoted(labels.at(position))}"
        raise columns.error(labels.row_of(position), problem, "a number in (0, 1]")
    return narrow


def _weights(columns: FileColumns) -> np.ndarray | None:
    if columns.weight is None:
        return None
    with np.errstate(over="ignore", under="ignore"):
        narrow = columns.weight.astype(np.float32)
    good = np.isfinite(narrow) & (narrow >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise columns.error(row, f"weight {columns.weight[row]}", "a number >= 0")
    return narrow


def _marks(
    columns: FileColumns, given: list[References | object | None], index: LabelIndex
) -> sparse.csr_array | None:
    """A matrix of ones at all pairs of the `given` references; a pair may occur twice."""
    references = [some for some in given if isinstance(some, References) and len(some.codes)]
    if not references:
        return None
    found = [_label_columns(columns, some, index) for some in references]
    labels, rows = np.concatenate([some[0] for some in found]), np.concatenate([r.rows() for r in references])
    named = labels != BLANK
    return pair_marks(rows[named], labels[named], len(columns.texts), len(index.space))


def pair_marks(rows: np.ndarray, labels: np.ndarray, height: int, width: int) -> sparse.csr_array:
    """A (height, width) matrix of ones at (rows[i], labels[i]); pairs may repeat."""
    places = np.unique(rows.astype(np.int64) * max(width, 1) + labels)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(places // max(width, 1), minlength=height))])
    return pairs_from_arrays(np.ones(len(places), dtype=np.float32), places % max(width, 1), offsets, width)
