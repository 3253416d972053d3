"""Which rows of a corpus an augmentation made, and from which row each was made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.augmentation import augmenters
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.errors import InputError
from tailwright.registry import unknown


@dataclass(frozen=True, eq=False)
class Pairing:
    """The new rows of one method and their sources, as places in the training rows; -1: no source."""

    method: str
    rows: np.ndarray  # (new rows,) int64
    sources: np.ndarray  # (new rows,) int64

    def paired(self) -> np.ndarray:
        """(pairs,) int64: which of the new rows have a source."""
        return np.flatnonzero(self.sources >= 0)


def pairings(corpus: Corpus, method: str | None = None) -> list[Pairing]:
    """A pairing for each method that made training rows, by name; for `method` alone if it is given.

    A corpus without such rows, or without those of `method`, is an InputError.
    """
    origin = corpus.train.origin
    made_by = {name: np.flatnonzero(origin.codes == code) for code, name in enumerate(origin.methods) if name}
    new_rows = {name: rows for name, rows in sorted(made_by.items()) if len(rows)}
    if not new_rows:
        raise InputError(
            "found no training rows that an augmentation made",
            expected="what `tailwright augment` writes as jsonl, csv, tsv or parquet: other formats do not "
            "say where a row came from",
            path=corpus.source or None,
        )
    if method is not None and method not in new_rows:
        raise InputError(unknown("method", method, list(new_rows)), path=corpus.source or None)
    return [
        Pairing(name, rows, _sources(corpus.train, name, origin.rows[rows]))
        for name, rows in new_rows.items()
        if method in (None, name)
    ]


def _sources(train: Dataset, method: str, numbers: np.ndarray) -> np.ndarray:
    """The places in the training rows of the original rows with these numbers, -1 for a missing one."""
    # gandalf's `origin.rows` are labels, as its card says; an unknown method is taken to have sources.
    has_sources = method not in augmenters.names() or augmenters.card(method).keeps_targets
    originals = np.flatnonzero(train.origin.is_original())
    if not has_sources or not len(originals):
        return np.full(len(numbers), -1)
    known, first = np.unique(train.origin.rows[originals], return_index=True)
    at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return np.where(known[at] == numbers, originals[first[at]], -1)
