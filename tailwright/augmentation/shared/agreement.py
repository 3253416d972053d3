"""What a trained classifier says of made rows: how far from their labels, and how near to their sources.

| figure of a made row | meaning |
|---|---|
| diversity | distance of its prediction from its labels: summed binary cross-entropy, or a divergence |
| consistency | share of its first k labels that are among its source's first k; k is how many labels it has |

Follows the two scores of the XDA paper. Only the labels that a classifier lists for a text have log-odds of
their own; all others count with the probability `FAINT`, below which none is told apart. So two texts with
the same lists have the same figures, whether or not a classifier can list all labels.

Pairs of row and label that give no loss are left out of the diversity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.special import logit

from tailwright.augmentation import TrainedClassifier
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids
from tailwright.evaluation.ranking import TopK
from tailwright.training.executor import Held
from tailwright.training.row_pieces import over_rows, row_pieces

FAINT = 1e-6
FLOOR = float(logit(FAINT))  # the log-odds of a label that is not listed
CELLS = 2**22  # pairs of row and label that are asked for at a time

Diversity = Callable[[sparse.csr_array, np.ndarray, sparse.csr_array], np.ndarray]


def agreement(
    train: Dataset,
    rows: np.ndarray,
    sources: np.ndarray,
    classifier: TrainedClassifier,
    diversity: Diversity,
    depth: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(diversity, consistency) of the made rows at the places `rows`, (made,) float64 each.

    `sources` are the places of their sources, each of which is asked about once. A row without a source (-1)
    is compared with its own labels instead; a row without labels has the consistency 0. `depth` labels of a
    text are asked for, or as many as a row has if it has more; without it all labels are.
    """
    labels = train.labels
    exam = Held(_Exam(train, classifier, diversity))
    sizes = np.diff(train.targets.indptr)[rows]  # (made,) k of each row
    places, expected = _first_of_sources(exam, sources, sizes)
    k = min(labels, max(depth or labels, int(sizes.max(initial=1))))
    # The labels that each row is compared with: the first of its source, or its own.
    theirs = _first(expected[places], sizes)
    theirs = sparse.csr_array(theirs + train.targets[rows].multiply((sources < 0)[:, None]))
    pieces = _Rows(0, rows, sizes, k, theirs).pieces()
    figures = np.concatenate([np.zeros((2, 0)), *over_rows(_figures, exam, pieces, "scoring")], axis=1)
    return figures[0], figures[1]


@dataclass(frozen=True, eq=False)
class _Exam:
    """What does not differ between pieces of the work; a worker of a cluster gets it once."""

    train: Dataset
    classifier: TrainedClassifier
    diversity: Diversity


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows that a classifier is asked about, `first` being the number of the first among all that are."""

    first: int
    places: np.ndarray  # (rows,) int64: in the training rows
    sizes: np.ndarray  # (rows,) int64: how many first labels of each are looked at
    k: int  # labels that are asked for
    theirs: sparse.csr_array  # (rows, labels): ones at those that the first are compared with

    def __len__(self) -> int:
        return len(self.places)

    def __str__(self) -> str:
        return f"rows {self.first:,} to {self.first + len(self) - 1:,} of those that are scored"

    def part(self, start: int, end: int) -> _Rows:
        return _Rows(
            self.first + start, self.places[start:end], self.sizes[start:end], self.k, self.theirs[start:end]
        )

    def pieces(self) -> list[_Rows]:
        """Whole blocks of them, so that no text is asked about in another company than in one process."""
        return [
            self.part(piece.first, piece.last) for piece in row_pieces(len(self), multiple=_block(self.k))
        ]

    def halves(self) -> Sequence[_Rows]:
        middle = len(self) // 2
        return (self.part(0, middle), self.part(middle, len(self))) if middle else ()

    def asked(self, exam: _Exam) -> Iterator[tuple[slice, TopK]]:
        """What the classifier says of the rows, a block of them at a time."""
        size = _block(self.k)
        for start in range(0, len(self), size):
            block = slice(start, min(start + size, len(self)))
            texts = exam.train.texts.take(pa.array(self.places[block]))
            yield block, exam.classifier.log_odds(texts, self.k)


def _block(k: int) -> int:
    """Rows that are asked about at a time."""
    return max(1, CELLS // k)


def _figures(held: Held[_Exam], piece: _Rows) -> list[np.ndarray]:
    """(2, rows): diversity and consistency."""
    exam, sizes = held.thing, piece.sizes
    found, kept = np.zeros(len(piece)), np.zeros(len(piece))
    for block, top in piece.asked(exam):
        own = exam.train.take(piece.places[block])
        distances, rest = listed(top, own.ignored)
        found[block] = exam.diversity(distances, rest, own.learnt_targets())
        first = _first(ranks(top, exam.train.labels), sizes[block])
        kept[block] = np.diff(first.multiply(piece.theirs[block]).tocsr().indptr)
    return [np.stack([found, np.divide(kept, sizes, out=np.zeros(len(piece)), where=sizes > 0)])]


def _first_labels(held: Held[_Exam], piece: _Rows) -> list[sparse.csr_array]:
    """`ranks` of the first labels of the rows, a matrix for each block of them."""
    labels = held.thing.train.labels
    return [_first(ranks(top, labels), piece.sizes[block]) for block, top in piece.asked(held.thing)]


def summed_bce(above: sparse.csr_array, rest: np.ndarray, targets: sparse.csr_array) -> np.ndarray:
    """(rows,) the sum over labels of the binary cross-entropy of probabilities and targets.

    `above` and `rest` are what `listed` gives. Of a label with log-odds z and target y the entropy is
    softplus(z) - y z, so only listed labels and targets have to be looked at.
    """
    soft = _with_data(above, np.logaddexp(0, above.data + FLOOR))
    positives = _sums(targets.multiply(above)) + FLOOR * _sums(targets)
    return _sums(soft) + rest * np.logaddexp(0, FLOOR) - positives


def softmax_kl(above: sparse.csr_array, rest: np.ndarray, targets: sparse.csr_array) -> np.ndarray:
    """(rows,) the divergence of softmax(log-odds) from the targets, which are smoothed by `FAINT`.

    Targets are divided by their sum, `FAINT` is added to each label, and the sum made 1 again.
    """
    odds, of_rest = np.exp(above.data + FLOOR), np.exp(FLOOR)
    total = _sums(_with_data(above, odds)) + rest * of_rest
    total = np.maximum(total, np.finfo(float).tiny)  # of a row all of whose labels are ignored
    mean = (_sums(_with_data(above, odds * (above.data + FLOOR))) + rest * FLOOR * of_rest) / total
    sums = np.maximum(_sums(targets), np.finfo(float).tiny)
    shares = targets.data / sums[row_ids(targets)]
    lifts = _with_data(targets, np.log1p(shares / FAINT))  # of a positive above any other label
    lifted = _sums(lifts.multiply(_with_data(above, odds - of_rest))) + of_rest * _sums(lifts)
    counted = rest + np.diff(above.indptr)
    labelled = np.diff(targets.indptr) > 0
    least = np.log(FAINT) - np.log(np.maximum(labelled + counted * FAINT, np.finfo(float).tiny))
    return np.where(counted > 0, mean - np.log(total) - least - lifted / total, 0.0)


def listed(top: TopK, ignored: sparse.csr_array) -> tuple[sparse.csr_array, np.ndarray]:
    """(above, rest): the log-odds of labels above `FLOOR`, (rows, labels), and how many are not above it.

    Ignored pairs are in neither. What is stored is the height above the floor, so that a pair which is not
    stored stands at the floor.
    """
    named = top.ids >= 0
    heights = np.clip(top.scores[named].astype(np.float64), FLOOR, -FLOOR) - FLOOR
    above = _pairs(heights, top, named, ignored.shape[1])
    above = sparse.csr_array(above - above.multiply(ignored))
    above.eliminate_zeros()
    return above, ignored.shape[1] - np.diff(above.indptr) - np.diff(ignored.indptr)


def ranks(top: TopK, labels: int) -> sparse.csr_array:
    """(rows, labels): the place of each listed label in its row, from 1."""
    named = top.ids >= 0
    return _pairs(np.broadcast_to(np.arange(1.0, top.k + 1), named.shape)[named], top, named, labels)


def _first_of_sources(
    exam: Held[_Exam], sources: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, sparse.csr_array]:
    """(which row of the matrix each made row's source is, -1: none; `ranks` of the distinct sources)."""
    labels = exam.thing.train.labels
    distinct, places = np.unique(sources[sources >= 0], return_inverse=True)
    of_made = np.full(len(sources), -1)
    of_made[sources >= 0] = places
    deepest = np.zeros(len(distinct), dtype=np.int64)
    np.maximum.at(deepest, places, sizes[sources >= 0])
    k = max(int(deepest.max(initial=0)), 1)
    pieces = _Rows(0, distinct, deepest, k, sparse.csr_array((len(distinct), labels))).pieces()
    blocks = [sparse.csr_array((0, labels)), *over_rows(_first_labels, exam, pieces, "scoring sources")]
    # The last row, of no source, is empty: place -1.
    blocks.append(sparse.csr_array((1, labels)))
    return of_made, sparse.csr_array(sparse.vstack(blocks, format="csr"))


def _first(ranked: sparse.csr_array, sizes: np.ndarray) -> sparse.csr_array:
    """Ones where a label's rank is at most its row's size."""
    first = _with_data(ranked, (ranked.data <= sizes[row_ids(ranked)]).astype(np.float64))
    first.eliminate_zeros()
    return first


def _pairs(values: np.ndarray, top: TopK, named: np.ndarray, labels: int) -> sparse.csr_array:
    starts = np.concatenate([[0], np.cumsum(named.sum(axis=1))])
    return sparse.csr_array((values, top.ids[named], starts), shape=(len(top), labels)).sorted_indices()


def _with_data(pairs: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((data, pairs.indices, pairs.indptr), shape=pairs.shape)


def _sums(pairs: sparse.sparray) -> np.ndarray:
    return np.asarray(pairs.sum(axis=1), dtype=np.float64).ravel()
