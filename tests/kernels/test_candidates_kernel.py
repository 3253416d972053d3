"""The kernel of a fusion's candidates against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.evaluation.ranking import TopK
from tailwright.kernels.candidates import candidate_features
from tailwright.models.fusion.combination import BELOW, SMALLEST, candidates_of


def some_tops(seed: int, texts: int, labels: int, k: int) -> list[TopK]:
    """A part with probabilities and one with log-odds; some places are empty, and all of the last text's."""
    random = np.random.default_rng(seed)
    tops = []
    for part in range(2):
        ids = np.stack([random.permutation(labels)[:k] for _ in range(texts)]).astype(np.int32)
        scores = -np.sort(-(random.random((texts, k)) if part == 0 else random.normal(0, 9, (texts, k))))
        scores[0, -1] = 0  # a probability below the smallest
        empty = random.random((texts, k)) < 0.2
        empty[-1] = True
        tops.append(TopK(np.where(empty, -1, ids), np.where(empty, -np.inf, scores).astype(np.float32)))
    return tops


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("texts", "labels", "k"), [(1, 3, 2), (7, 12, 5), (40, 60, 25)])
def test_candidates_agree_with_numpy(seed: int, texts: int, labels: int, k: int) -> None:
    tops, counts = some_tops(seed, texts, labels, k), np.arange(labels) * 3
    ids, scores = (np.stack([getattr(top, what) for top in tops]) for what in ("ids", "scores"))
    expected = candidates_of(tops, [False, True], counts)
    found = candidate_features(ids, scores, np.array([False, True]), counts, BELOW, SMALLEST)
    np.testing.assert_array_equal(found[0], expected.rows)
    np.testing.assert_array_equal(found[1], expected.labels)
    np.testing.assert_allclose(found[2], expected.features, rtol=1e-5, atol=1e-5)


def test_no_texts_have_no_candidates() -> None:
    none = np.empty((2, 0, 3), np.int32), np.empty((2, 0, 3), np.float32)
    rows, labels, features = candidate_features(*none, np.array([False, True]), np.zeros(4, int), 0.5, 1e-4)
    assert (len(rows), len(labels), features.shape) == (0, 0, (0, 9))
