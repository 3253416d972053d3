"""Labels that come later: which of them are new, and rows over the columns of a larger label space.

Known labels keep their columns, new ones are appended.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import PAIR_COLUMNS, Dataset, arrow_strings
from tailwright.data.pairs import with_moved_columns
from tailwright.data.text.words import tokenise
from tailwright.errors import InputError, quoted


def refuse_known(known: LabelSpace, more: LabelSpace) -> None:
    """InputError for no labels at all, for one that is known already, and for one without a word."""
    if not len(more):
        raise InputError("no labels", expected="at least one")
    for what, column in (("id", "ids"), ("name", "names")):
        there = set(getattr(known, column).to_pylist())
        twice = [value for value in getattr(more, column).to_pylist() if value in there]
        if twice:
            others = f" and {len(twice) - 1:,} more" if len(twice) > 1 else ""
            found = f"the label {what} {quoted(twice[0])}{others}, which the run has"
            raise InputError(found, expected="new labels only")
    wordless = np.flatnonzero(np.diff(tokenise(more.texts).offsets) == 0)
    if len(wordless):
        label, text = more.names[wordless[0]].as_py(), more.texts[wordless[0]].as_py()
        found = f"the label {quoted(label)} with the text {quoted(text)}"
        raise InputError(found, expected="a text with a word, by which the label is found")


def appended_labels(known: LabelSpace, more: LabelSpace) -> LabelSpace:
    """All labels, the known ones first; the new ones have no rows."""
    columns = {
        name: pa.concat_arrays([getattr(known, name), getattr(more, name)])
        for name in ("ids", "names", "texts")
    }
    counts = np.concatenate([known.counts, np.zeros(len(more), dtype=np.int64)])
    return LabelSpace(**columns, counts=counts)


def matched_columns(known: LabelSpace, more: LabelSpace) -> np.ndarray:
    """(more,) int64: the column of each label among `known`, by its id or else its name; -1 for a new one.

    InputError if two labels of `more` are one label of `known`, or if a name stands for several.
    """
    names: dict[str, int] = {}
    for column, name in enumerate(known.names.to_pylist()):
        names[name] = -2 if name in names else column
    ids, columns = known.index_of_id, np.empty(len(more), dtype=np.int64)
    for place, (label, name) in enumerate(zip(more.ids.to_pylist(), more.names.to_pylist(), strict=True)):
        columns[place] = ids[label] if label in ids else names.get(name, -1)
        if columns[place] == -2:
            raise InputError(f"the label {quoted(name)}", expected="an id: several labels have this name")
    found = columns[columns >= 0]
    counts = np.bincount(found, minlength=1)
    if counts.max(initial=0) > 1:
        label = known.names[int(counts.argmax())].as_py()
        raise InputError(f"the label {quoted(label)} under two ids", expected="one")
    return columns


def together(known: LabelSpace, more: LabelSpace) -> tuple[LabelSpace, np.ndarray]:
    """All labels, the known ones first, and (more,) int64: the column of each of `more` among them."""
    columns = matched_columns(known, more)
    new = np.flatnonzero(columns < 0)
    columns[new] = len(known) + np.arange(len(new))
    taken = (getattr(more, name).take(pa.array(new)) for name in ("ids", "names", "texts"))
    return appended_labels(known, LabelSpace(*map(arrow_strings, taken))), columns


def relabelled(data: Dataset, columns: np.ndarray, labels: int) -> Dataset:
    """The rows over `labels` labels; label i is then at `columns[i]`."""
    pairs = {name: with_moved_columns(getattr(data, name), columns, labels) for name in PAIR_COLUMNS}
    weights = None
    if data.label_weights is not None:
        weights = np.ones(labels, dtype=np.float32)
        weights[columns] = data.label_weights
    return replace(data, **pairs, label_weights=weights)


def over_labels(corpus: Corpus, labels: LabelSpace, columns: np.ndarray) -> Corpus:
    """The corpus over `labels`, among which its own are at `columns`."""
    splits = {name: relabelled(rows, columns, len(labels)) for name, rows in corpus.splits().items()}
    moved = Corpus.of_splits(labels, splits)
    return replace(moved, source=corpus.source, fraction=corpus.fraction, notes=corpus.notes)


def in_the_order_of(corpus: Corpus, labels: LabelSpace) -> Corpus:
    """The corpus over `labels` if it has the same ids in another order; else as it is."""
    if corpus.labels.ids.equals(labels.ids) or set(corpus.labels.index_of_id) != set(labels.index_of_id):
        return corpus
    columns = np.array([labels.index_of_id[label] for label in corpus.labels.ids.to_pylist()])
    return over_labels(corpus, labels, columns)
