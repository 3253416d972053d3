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

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.special import logit

from tailwright.augmentation import TrainedClassifier
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids
from tailwright.evaluation.ranking import TopK

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
    sizes = np.diff(train.targets.indptr)[rows]  # (made,) k of each row
    places, expected = _first_of_sources(train, sources, sizes, classifier)
    found, kept = np.zeros(len(rows)), np.zeros(len(rows))
    k = min(labels, max(depth or labels, int(sizes.max(initial=1))))
    for block, top in _asked(classifier, train.texts, rows, k):
        own = train.take(rows[block])
        distances, rest = listed(top, own.ignored)
        found[block] = diversity(distances, rest, own.learnt_targets())
        theirs = _first(expected[places[block]], sizes[block])
        theirs = sparse.csr_array(theirs + own.targets.multiply((places[block] < 0)[:, None]))
        kept[block] = np.diff(_first(ranks(top, labels), sizes[block]).multiply(theirs).tocsr().indptr)
    return found, np.divide(kept, sizes, out=np.zeros(len(rows)), where=sizes > 0)


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
    train: Dataset, sources: np.ndarray, sizes: np.ndarray, classifier: TrainedClassifier
) -> tuple[np.ndarray, sparse.csr_array]:
    """(which row of the matrix each made row's source is, -1: none; `ranks` of the distinct sources)."""
    distinct, places = np.unique(sources[sources >= 0], return_inverse=True)
    of_made = np.full(len(sources), -1)
    of_made[sources >= 0] = places
    deepest = np.zeros(len(distinct), dtype=np.int64)
    np.maximum.at(deepest, places, sizes[sources >= 0])
    blocks = [sparse.csr_array((0, train.labels))]
    k = max(int(deepest.max(initial=0)), 1)
    for block, top in _asked(classifier, train.texts, distinct, k):
        blocks.append(_first(ranks(top, train.labels), deepest[block]))
    # The last row, of no source, is empty: place -1.
    blocks.append(sparse.csr_array((1, train.labels)))
    return of_made, sparse.csr_array(sparse.vstack(blocks, format="csr"))


def _asked(
    classifier: TrainedClassifier, texts: pa.LargeStringArray, rows: np.ndarray, k: int
) -> Iterator[tuple[slice, TopK]]:
    """What the classifier says of the texts at `rows`, a block of them at a time."""
    size = max(1, CELLS // k)
    for start in range(0, len(rows), size):
        block = slice(start, min(start + size, len(rows)))
        yield block, classifier.log_odds(texts.take(pa.array(rows[block])), k)


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
