"""A new row has the id of the row that it was made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from toy_augmenter import SwapTwoWords

from tailwright.augmentation.shared.adding import with_new_rows
from tailwright.data.corpus import corpus_from_lists
from tailwright.data.dataset import Origin


def test_a_new_row_has_the_id_of_its_source_whatever_the_order():
    corpus = corpus_from_lists(["red shoes", "blue hats", "a scarf"], [[0], [1], []], ["shoes", "hats"])
    train = replace(corpus.train, ids=["S-1", "", "S-3"]).take([2, 0, 1])
    grown = with_new_rows(corpus.with_train(train), SwapTwoWords(), seed=0, workers=1)
    assert grown.train.ids.to_pylist() == ["S-3", "S-1", ""] * 2


def test_a_row_that_was_made_of_no_row_has_no_id():
    corpus = corpus_from_lists(["red shoes", "blue hats"], [[0], [1]], ["shoes", "hats"])
    train = replace(corpus.train, ids=["S-1", "S-2"])

    class OfAnotherCorpus(SwapTwoWords):
        def new_rows(self, corpus, *, seed=0, workers=1):
            rows = super().new_rows(corpus, seed=seed, workers=workers)
            return replace(rows, origin=Origin.made_by(self.card.name, np.array([1, 7])))

    grown = with_new_rows(corpus.with_train(train), OfAnotherCorpus(), seed=0, workers=1)
    assert grown.train.ids.to_pylist() == ["S-1", "S-2", "S-2", ""]


def test_without_ids_new_rows_have_none_either():
    corpus = corpus_from_lists(["red shoes"], [[0]], ["shoes"])
    assert with_new_rows(corpus, SwapTwoWords(), seed=0, workers=1).train.ids is None
