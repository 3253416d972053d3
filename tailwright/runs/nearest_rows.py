"""The training rows with a label that are nearest to a text.

A run folder holds no rows: they are read where the run was trained, if they are still there unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import Dataset
from tailwright.data.read import read
from tailwright.data.text.tfidf import TfIdf
from tailwright.errors import InputError

if TYPE_CHECKING:
    from tailwright.runs.run import Run

# Rows of a label that a model makes vectors of: those nearest by TF-IDF. A head label may have 100,000.
MOST_ENCODED = 1000
TF_IDF, VECTORS = "cosine of TF-IDF", "cosine of the model's vectors"


@dataclass(frozen=True)
class NearRow:
    """A training row with the label, and how near it is to the text."""

    text: str
    cosine: float
    target: float  # how true the label is of the row, in (0, 1]
    id: str  # the user's own, empty if it has none
    made_by: str  # the augmentation, empty for an original row


@dataclass(frozen=True)
class Nearest:
    """The nearest rows of each label, and what they are near by."""

    rows: list[tuple[NearRow, ...]]
    by: str


def training_rows(run: Run) -> Dataset:
    """The rows that the run learnt from, without those that its augmentations made.

    InputError if they cannot be read any more, or are others now.
    """
    if not run.data.path:
        raise InputError("the run does not say which file its rows came from")
    corpus = read(run.data.path)
    if run.fraction < 1:
        corpus = corpus.sample(run.fraction)
    if corpus.digest() != run.data.digest:
        raise InputError("is not what the run was trained on", path=run.data.path)
    return corpus.train.weighed()


class RowSearch:
    """The training rows of a run, prepared once for any number of searches."""

    def __init__(self, run: Run, train: Dataset) -> None:
        self._run, self._train = run, train
        self._features = TfIdf.fit(train.texts)
        self._taught = train.learnt_targets().tocsc()
        self._taught.eliminate_zeros()

    def nearest(self, text: str, labels: Sequence[int], count: int) -> Nearest:
        """Of each of `labels`, the `count` rows that are nearest by the model's vectors, or else by TF-IDF.

        Only rows whose pair with the label gives a loss count; those with nothing in common with the text
        are left out.
        """
        train, taught, model = self._train, self._taught, self._run.model
        query = self._features.transform([text])
        own = model.text_vectors([text])  # (1, width)
        found = []
        for label in labels:
            stored = slice(taught.indptr[label], taught.indptr[label + 1])
            rows, targets = taught.indices[stored], taught.data[stored]
            cosines = (self._features.transform(train.texts.take(pa.array(rows))) @ query.T).toarray()[:, 0]
            if own is not None:
                some = _best(cosines, rows, MOST_ENCODED)
                rows, targets = rows[some], targets[some]
                vectors = model.text_vectors(train.texts.take(pa.array(rows)))
                assert vectors is not None, "a model has vectors of all texts or of none"
                cosines = vectors @ own[0]
            best = [place for place in _best(cosines, rows, count) if cosines[place]]
            found.append(tuple(_near(train, rows[at], cosines[at], targets[at]) for at in best))
        return Nearest(found, TF_IDF if own is None else VECTORS)


def _best(cosines: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """The places of the largest cosines, equal ones by row."""
    return np.lexsort((rows, -cosines))[:count]


def _near(train: Dataset, row: int, cosine: float, target: float) -> NearRow:
    return NearRow(
        train.texts[int(row)].as_py(),
        float(cosine),
        float(target),
        "" if train.ids is None else train.ids[int(row)].as_py(),
        train.origin.methods[train.origin.codes[row]],
    )
