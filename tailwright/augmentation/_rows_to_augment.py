"""Which training rows a method makes new rows of: those that help rare labels, and that are fit for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.augmentation import RowSettings
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin
from tailwright.data.text.spans import spaced_words
from tailwright.errors import InputError, quoted
from tailwright.kernels.draws import coins
from tailwright.streams import stream_key


@dataclass(frozen=True)
class SourceSettings(RowSettings):
    """Which rows are sources of new rows, and what these weigh.

    | setting | meaning |
    |---|---|
    | `weight` | what a new row counts in the loss, beside 1 for the row it came from |
    | `rows` | `tail`: rows that carry a rare label; `all`; or a number: this share of all, by the seed |
    | `tail_below` | a label is rare if it has fewer training rows than this |
    | `omit_labels` | ids or names of labels whose rows are never sources, rare labels or not |
    | `omit_share` | so are the rows of labels that more than this share of the rows carry; 1: no label |
    | `min_words`, `max_words` | words of a source, as white space parts them |

    The GDA paper takes about half of the rows that are 5 to 200 words long and have none of five media labels
    (of 1 % to 25 % of its rows), rare labels or not, and finds a weight of 0.5 best: that is `rows=0.5` with
    these labels in `omit_labels`. The default here is `tail`, as rare labels are what new rows are made for,
    and omits nothing, for what should be omitted differs from corpus to corpus. The seed draws the same rows
    for every method, and a larger share holds the smaller one.
    """

    weight: float = 0.5
    rows: Literal["tail", "all"] | float = "tail"
    tail_below: int = 10
    omit_labels: tuple[str, ...] = ()
    omit_share: float = 1.0
    min_words: int = 5
    max_words: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        named = self.rows in ("tail", "all")
        if not named and not (isinstance(self.rows, (int, float)) and 0 < self.rows <= 1):
            raise ValueError(f"rows must be tail, all or a number in (0, 1], got {self.rows!r}")
        if self.tail_below < 1:
            raise ValueError(f"tail_below must be >= 1, got {self.tail_below}")
        if not 0 < self.omit_share <= 1:
            raise ValueError(f"omit_share must be in (0, 1], got {self.omit_share}")
        if self.min_words < 0:
            raise ValueError(f"min_words must be >= 0, got {self.min_words}")
        if self.max_words < self.min_words:
            raise ValueError(f"max_words must be >= min_words ({self.min_words}), got {self.max_words}")


def rows_to_augment(
    corpus: Corpus, settings: SourceSettings, *, seed: int = 0, workers: int = 1
) -> np.ndarray:
    """Places in `corpus.train` of the sources, ascending. Rows that another method made are none."""
    train = corpus.train
    words = spaced_words(train.texts, threads=workers)
    fit = train.origin.is_original() & (words >= settings.min_words) & (words <= settings.max_words)
    omitted = omitted_labels(corpus, settings)
    if omitted.any():
        fit &= ~_carry(train.targets, omitted)
    if settings.rows == "tail":
        fit &= _carry(_learnt(train), corpus.labels.counts < settings.tail_below)
    elif settings.rows != "all":
        fit &= coins(stream_key(seed, "rows-to-augment"), train.origin.rows, float(settings.rows))
    return np.flatnonzero(fit)


def rows_made_of(train: Dataset, sources: np.ndarray, texts: pa.LargeStringArray, method: str) -> Dataset:
    """A row for each text, with all that its source, a place in `train`, has beside a text."""
    return Dataset(
        texts,
        train.targets[sources],
        train.weights[sources],
        train.ignored[sources],
        train.excluded[sources],
        Origin.made_by(method, train.origin.rows[sources]),
    )


def omitted_labels(corpus: Corpus, settings: SourceSettings) -> np.ndarray:
    """(labels,) bool: the labels whose rows are no sources."""
    rows = int(corpus.train.origin.is_original().sum())
    omitted: np.ndarray = corpus.labels.counts > settings.omit_share * rows
    for label in settings.omit_labels:
        omitted |= _named(corpus.labels, label)
    return omitted


def _named(labels: LabelSpace, label: str) -> np.ndarray:
    """(labels,) bool: the label of that id, else those of that name; none is an InputError."""
    found = np.zeros(len(labels), dtype=bool)
    column = labels.index_of_id.get(label)
    if column is not None:
        found[column] = True
        return found
    found[[i for i, name in enumerate(labels.names.to_pylist()) if name == label]] = True
    if not found.any():
        raise InputError(f"omit_labels: no label {quoted(label)}", expected="the id or name of a label")
    return found


def _learnt(train: Dataset) -> sparse.csr_array:
    return train.learnt_targets() if train.ignored.nnz else train.targets


def _carry(targets: sparse.csr_array, labels: np.ndarray) -> np.ndarray:
    """(rows,) bool: which rows have one of these labels."""
    held = np.concatenate([[0], np.cumsum(labels[targets.indices])])
    carried: np.ndarray = held[targets.indptr[1:]] > held[targets.indptr[:-1]]
    return carried
