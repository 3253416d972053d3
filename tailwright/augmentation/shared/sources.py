"""Which training rows are sources of new rows, and of which source a made row was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from tailwright.augmentation import augmenters
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin
from tailwright.data.text.words import spaced_words
from tailwright.errors import InputError, quoted
from tailwright.kernels.draws import coins, random_keys
from tailwright.settings import Settings, setting
from tailwright.streams import stream_key

WEIGHT = "weight of a new row in the loss, times its source row's; the GDA paper finds 0.5 best"


@dataclass(frozen=True)
class SourceSettings(Settings):
    """Which rows are sources of new rows.

    The GDA paper takes about half of the rows that have 5 to 200 words and none of five media labels (which
    1 % to 25 % of its rows have), rare labels or not: that is `rows=0.5` with these labels in `omit_labels`.
    The default here is `tail`, as new rows are made for rare labels, and omits no label, as that depends on
    the corpus. The seed draws the same rows for every method; a larger share includes a smaller one.
    """

    rows: Literal["tail", "all"] | float = setting(
        "tail", "tail: rows with a rare label; all; or a number: this share of all, by the seed"
    )
    tail_below: int = setting(10, "a label is rare if it has fewer training rows than this", least=1)
    omit_labels: tuple[str, ...] = setting((), "ids or names of labels whose rows are never sources")
    omit_share: float = setting(
        1.0, "rows of labels on more than this share of the rows are no sources either", above=0, most=1
    )
    min_words: int = setting(5, "fewest words of a source, split at white space", least=0)
    max_words: int = setting(200, "most words of a source")
    max_rows: int | None = setting(None, "most sources, drawn by the seed; none: no limit", least=1)

    def check(self) -> None:
        if not isinstance(self.rows, str) and not 0 < self.rows <= 1:
            raise ValueError(f"rows must be tail, all or a number in (0, 1], got {self.rows}")
        if self.max_words < self.min_words:
            raise ValueError(f"max_words must be >= min_words ({self.min_words}), got {self.max_words}")


def rows_to_augment(
    corpus: Corpus, settings: SourceSettings, *, seed: int = 0, workers: int = 1
) -> np.ndarray:
    """Places in `corpus.train` of all that can be sources, ascending: original rows alone.

    `drawn_rows` takes `max_rows` of them.
    """
    train = corpus.train
    words = spaced_words(train.texts, threads=workers)
    fit = train.origin.is_original() & (words >= settings.min_words) & (words <= settings.max_words)
    omitted = omitted_labels(corpus, settings)
    if omitted.any():
        fit &= train.targets @ omitted == 0
    if settings.rows == "tail":
        learnt = train.learnt_targets() if train.ignored.nnz else train.targets
        fit &= learnt @ (corpus.labels.counts < settings.tail_below) > 0
    elif settings.rows != "all":
        fit &= coins(stream_key(seed, "rows-to-augment"), train.origin.rows, float(settings.rows))
    return np.flatnonzero(fit)


def drawn_rows(
    rows: np.ndarray, numbers: np.ndarray, most: int | None, seed: int, method: str = "sources"
) -> np.ndarray:
    """`most` of these rows, drawn by the seed, in the order of their numbers.

    A larger draw includes a smaller one. Of rows with the same number only the first is a source.
    """
    rows = rows[np.unique(numbers[rows], return_index=True)[1]]
    if most is None or len(rows) <= most:
        return rows
    drawn = random_keys(stream_key(seed, method), numbers[rows])
    return rows[np.sort(np.argsort(drawn, kind="stable")[:most])]


def rows_made_of(train: Dataset, sources: np.ndarray, texts: pa.LargeStringArray, method: str) -> Dataset:
    """A row for each text, with all other columns of its source, a place in `train`."""
    return Dataset(
        texts,
        train.targets[sources],
        train.weights[sources],
        train.ignored[sources],
        train.excluded[sources],
        Origin.made_by(method, train.origin.rows[sources]),
    )


def has_sources(method: str) -> bool:
    """Whether the rows of a method were made of rows; an unknown method is taken to have sources.

    A method that makes its own targets, as Gandalf does from label texts, has none: its `origin.rows` are not
    rows.
    """
    return bool(method) and (method not in augmenters.names() or augmenters.card(method).keeps_targets)


def refuse_without_made_rows(corpus: Corpus) -> None:
    """InputError if no training row of a corpus was made by an augmentation."""
    if bool(corpus.train.origin.is_original().all()):
        raise InputError(
            "found no training rows that an augmentation made",
            expected="what `tailwright augment` writes as jsonl, csv, tsv or parquet: other formats do not "
            "say where a row came from",
            path=corpus.source or None,
        )


def source_places(train: Dataset, places: np.ndarray) -> np.ndarray:
    """Where the original rows are that the rows at `places` were made of; -1 for a row without a source."""
    return places_of_origin(train, train.origin.take(places))


def places_of_origin(train: Dataset, made: Origin) -> np.ndarray:
    """Where the original rows are that rows of this origin were made of; -1 for a row without a source."""
    originals = np.flatnonzero(train.origin.is_original())
    if not len(originals):
        return np.full(len(made.rows), -1)
    known, first = np.unique(train.origin.rows[originals], return_index=True)
    at = np.minimum(np.searchsorted(known, made.rows), len(known) - 1)
    sourced = np.array([has_sources(method) for method in made.methods])[made.codes]
    return np.where(sourced & (known[at] == made.rows), originals[first[at]], -1)


def omitted_labels(corpus: Corpus, settings: SourceSettings) -> np.ndarray:
    """(labels,) bool: labels whose rows are no sources."""
    rows = int(corpus.train.origin.is_original().sum())
    omitted: np.ndarray = corpus.labels.counts > settings.omit_share * rows
    for label in settings.omit_labels:
        omitted |= _named(corpus.labels, label)
    return omitted


def _named(labels: LabelSpace, label: str) -> np.ndarray:
    """(labels,) bool: the label with that id, else all with that name; none is an InputError."""
    column = labels.index_of_id.get(label)
    if column is not None:
        return np.arange(len(labels)) == column
    named = np.array([name == label for name in labels.names.to_pylist()], dtype=bool)
    if not named.any():
        raise InputError(f"omit_labels: no label {quoted(label)}", expected="the id or name of a label")
    return named
