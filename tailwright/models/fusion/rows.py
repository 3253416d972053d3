"""What a fusion looks at in training rows before its parts learn from them."""

from __future__ import annotations

import numpy as np

from tailwright.augmentation.shared.sources import has_sources
from tailwright.data.dataset import Dataset, text_buffers
from tailwright.streams import stream


def labelled(train: Dataset) -> np.ndarray:
    """(rows,) bool: which have a label that gives a loss."""
    return np.diff(train.learnt_targets().indptr) > 0


def letters_by_labels(train: Dataset) -> float:
    """The sum over the rows of a text's length times its number of labels, which `linear` learns from."""
    offsets, _ = text_buffers(train.texts)
    return float(np.diff(offsets) @ np.diff(train.targets.indptr).astype(np.float64))


def mean_weights(train: Dataset) -> np.ndarray:
    """(labels,) float32: the mean weight of what the rows say of each label, 1 where they say nothing."""
    weighted, plain = train.weighted_targets().sum(axis=0), train.learnt_targets().sum(axis=0)
    weights = np.divide(weighted, plain, out=np.ones(len(plain)), where=plain > 0, casting="unsafe")
    return weights.astype(np.float32)


def made_of(train: Dataset, held: np.ndarray) -> np.ndarray:
    """(rows,) bool: augmented rows whose source is held out; in training they would give its labels away."""
    sourced = np.array([has_sources(method) for method in train.origin.methods])[train.origin.codes]
    return sourced & np.isin(train.origin.rows, train.origin.rows[held])


def rows_of_fold(
    rows: np.ndarray, count: int, fold: int, seed: int, last_fold: int | None = None
) -> np.ndarray:
    """Which `count` of the rows, which are in the order of the file, a fold holds out: rows at random.

    If there is a `last_fold`, that one has the last rows, and the others have none of them.

    >>> rows = np.arange(10)
    >>> rows_of_fold(rows, 3, 1, seed=0, last_fold=1).tolist()
    [7, 8, 9]
    >>> bool((rows_of_fold(rows, 3, 0, seed=0, last_fold=1) < 7).all())
    True
    """
    if last_fold is not None:
        rows, last = np.split(rows, [len(rows) - count])
        if fold == last_fold:
            return last
    drawn = stream(seed, "fusion/held-out").permutation(rows)
    return drawn[fold * count : (fold + 1) * count]
