"""Which rows of a corpus an augmentation made, and from which row each was made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.augmentation.shared.sources import refuse_without_made_rows, source_places
from tailwright.data.corpus import Corpus
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
    refuse_without_made_rows(corpus)
    origin = corpus.train.origin
    made_by = {name: np.flatnonzero(origin.codes == code) for code, name in enumerate(origin.methods) if name}
    new_rows = {name: rows for name, rows in sorted(made_by.items()) if len(rows)}
    if method is not None and method not in new_rows:
        raise InputError(unknown("method", method, list(new_rows)), path=corpus.source or None)
    return [
        Pairing(name, rows, source_places(corpus.train, rows))
        for name, rows in new_rows.items()
        if method in (None, name)
    ]
