"""Blocked exact search finds what one product over all labels finds, ties and padding included."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.evaluation.ranking import top_k_of_scores
from tailwright.heads import nearest


def whole_numbers(key: int, *shape: int) -> np.ndarray:
    """Small whole numbers: their products are exact and full of ties."""
    return np.random.Generator(np.random.Philox(key=key)).integers(-2, 3, shape).astype(np.float32)


@pytest.mark.parametrize("k", [1, 4, 40])
def test_blocks_and_ties_make_no_difference(monkeypatch, k):
    queries, labels = whole_numbers(1, 11, 3), whole_numbers(2, 23, 3)
    monkeypatch.setattr(nearest, "QUERIES_A_BLOCK", 4)
    monkeypatch.setattr(nearest, "POINTS_A_BLOCK", 5)
    found, expected = nearest.exact_top_k(queries, labels, k), top_k_of_scores(queries @ labels.T, k)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_no_texts_or_no_labels_give_padding():
    assert nearest.exact_top_k(np.empty((0, 3), np.float32), whole_numbers(1, 4, 3), 2).ids.shape == (0, 2)
    assert (nearest.exact_top_k(whole_numbers(1, 4, 3), np.empty((0, 3), np.float32), 2).ids == -1).all()
