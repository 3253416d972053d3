"""The labels of a batch of twin: its positives, and labels drawn at random."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import datasets

from tailwright.data.batch_targets import TargetRows
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.models.twin.phases import SampledNegatives
from tailwright.streams import stream


@given(datasets(min_rows=1), st.integers(0, 4), st.data())
def test_the_labels_of_a_batch_hold_every_positive(data, sampled, draw):
    rows = np.array(draw.draw(st.permutations(range(len(data)))))[: max(1, len(data) // 2)]
    gather = TargetRows(data)
    labels = SampledNegatives(gather, sampled).beside(gather(rows), stream(0, "test"))
    assert labels.tolist() == sorted(set(labels.tolist()))
    outside = np.setdiff1d(np.arange(data.labels), labels)
    assert data.targets.toarray()[rows][:, outside].sum() == 0
    drawn = stream(0, "test").integers(0, data.labels, min(sampled, data.labels), dtype=np.int32)
    assert set(drawn.tolist()) <= set(labels.tolist())


def test_the_probability_of_a_label_is_how_often_it_is_in_a_batch():
    ids = [[0], [0], [0, 1], [], [0], [2], [], []]
    gather = TargetRows(Dataset(arrow_strings(["x"] * len(ids)), pairs_from_lists(ids, 6)))
    negatives = SampledNegatives(gather, 2)
    seen = np.zeros(6)
    draws = 4000
    for draw in range(draws):
        random = stream(0, "chance", draw)
        seen[negatives.beside(gather(random.integers(0, len(ids), 3)), random)] += 1
    np.testing.assert_allclose(np.exp(negatives.log_inclusion_probabilities(3)), seen / draws, atol=0.03)
