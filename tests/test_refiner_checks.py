"""The checks of methods that refine made rows catch each way of breaking their promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tailwright.augmentation import AugmenterCard, RowRefiner
from tailwright.checks import check_augmenter
from tailwright.data import Dataset


class KeepsAll(RowRefiner):
    """Leaves all rows as they are, but for what `spoil` does to the training rows."""

    card = AugmenterCard("keeps-all", "for the checks", "rows", keeps_targets=True)

    def refined(self, corpus, *, classifier=None, work=None):
        return corpus.with_train(self.spoil(corpus.train))

    def spoil(self, train):
        return train


class TouchesOriginals(KeepsAll):
    def spoil(self, train):
        return replace(train, weights=train.weights * 2)


class KeepsEveryOther(KeepsAll):
    """Of the made rows, by their places."""

    def spoil(self, train):
        places = np.arange(len(train))
        return train.take(np.flatnonzero(train.origin.is_original() | (places % 2 == 0)))


class CountsCalls(KeepsAll):
    calls = 0

    def spoil(self, train):
        self.calls += 1
        weights = np.where(train.origin.is_original(), train.weights, train.weights / self.calls)
        return replace(train, weights=weights)


class AddsRows(KeepsAll):
    def spoil(self, train):
        made = train.take(np.flatnonzero(~train.origin.is_original()))
        return Dataset.concat([train, made])


class DropsTargets(KeepsAll):
    def spoil(self, train):
        kept = sparse.csr_array(train.targets.multiply(train.origin.is_original()[:, None]))
        kept.eliminate_zeros()
        return replace(train, targets=kept)


class MasksInSecret(KeepsAll):
    def spoil(self, train):
        made = sparse.csr_array(train.targets.multiply(~train.origin.is_original()[:, None]))
        made.eliminate_zeros()
        return replace(train, ignored=sparse.csr_array((made + train.ignored > 0).astype(np.float32)))


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (TouchesOriginals, "original rows are changed"),
        (KeepsEveryOther, "the order of the rows changes"),
        (CountsCalls, "the same seed gives other rows"),
        (AddsRows, "rows that were not there"),
        (DropsTargets, "targets of made rows are changed"),
        (MasksInSecret, "ignored of made rows are changed"),
    ],
)
def test_a_broken_refiner_is_caught(broken, complaint):
    check_augmenter(KeepsAll())
    with pytest.raises(AssertionError, match=complaint):
        check_augmenter(broken())
