"""How the scores of a classifier, of a reranker and of similarity become one."""

from __future__ import annotations

import numpy as np
import pytest
from rankings import top
from scipy import sparse
from scipy.special import expit

from tailwright.evaluation.ranking import TopK
from tailwright.heads.shortlist import fused, relative_probabilities, reranked, without_pairs


def test_beta_1_ranks_as_the_classifier_and_beta_0_as_similarity():
    classifier = top([(4, 3.0), (1, -2.0), (7, -5.0)])
    similarity = top([(1, 0.9), (8, 0.5), (4, 0.4)])
    assert fused(classifier, similarity, 1.0, 10).ids[0, :3].tolist() == [4, 1, 7]
    assert fused(classifier, similarity, 0.0, 10).ids[0, :3].tolist() == [1, 8, 4]


def test_fusion_adds_probabilities_over_the_largest_of_their_row():
    classifier, similarity = top([(0, 2.0), (1, 0.0)]), top([(1, 0.5), (2, 0.1)])
    both = fused(classifier, similarity, 0.25, 3)
    expected = {
        0: 0.25,
        1: 0.25 * expit(0.0) / expit(2.0) + 0.75,
        2: 0.75 * expit(0.1) / expit(0.5),
    }
    scores = dict(zip(both.ids[0, :3].tolist(), both.scores[0, :3].tolist(), strict=True))
    assert scores == pytest.approx(expected, rel=1e-5)


def test_padding_never_enters_the_largest_of_a_row():
    # The logistic function of a padded zero would be 0.5, far above this row's real probabilities.
    relative = relative_probabilities(TopK(np.array([[3, -1]]), np.array([[-9.0, 0.0]], np.float32)))
    assert relative.scores.tolist() == [[1.0, 0.0]]
    assert relative_probabilities(top([(0, 1.0)], [])).scores[1].tolist() == [0.0]


def test_excluded_pairs_never_enter_the_largest_of_a_row():
    """As if the excluded label had been in no list: the others are divided by the largest that is left."""
    excluded = sparse.csr_array(np.array([[0, 0, 1], [0, 0, 0]], np.float32))
    classifier = top([(2, 5.0), (0, 1.0), (1, -1.0)], [(2, 5.0), (0, 1.0), (1, -1.0)])
    similarity = top([(2, 0.9), (1, 0.4)], [(2, 0.9), (1, 0.4)])
    both = fused(without_pairs(classifier, excluded), without_pairs(similarity, excluded), 0.5, 3)
    without = fused(top([(0, 1.0), (1, -1.0)]), top([(1, 0.4)]), 0.5, 3)
    assert both.ids[0, :2].tolist() == without.ids[0, :2].tolist() == [1, 0]
    np.testing.assert_array_equal(both.scores[0, :2], without.scores[0, :2])
    assert (both.ids[0, 2:] == -1).all()
    assert both.ids[1, :3].tolist() == [2, 1, 0]


@pytest.mark.parametrize("labels", [[0], [1, 2], []])
def test_pairs_that_are_taken_out_become_padding_in_their_row_alone(labels):
    lists = top([(0, 3.0), (1, 2.0), (2, 1.0)], [(0, 3.0), (1, 2.0)])
    excluded = np.zeros((2, 3), np.float32)
    excluded[0, labels] = 1
    kept = without_pairs(lists, sparse.csr_array(excluded))
    assert kept.ids.tolist() == [[-1 if n in labels else n for n in range(3)], [0, 1, -1]]
    np.testing.assert_array_equal(np.isneginf(kept.scores), kept.ids < 0)


def test_a_reranker_counts_by_its_weight_and_padding_stays_padding():
    ranking = top([(4, 2.0), (1, -2.0)], [(3, 1.0)])
    logits = np.array([[0.0, 4.0], [1.0, -np.inf]], np.float32)
    again = reranked(ranking, logits, 0.25)
    assert again.ids.tolist() == ranking.ids.tolist()
    assert again.scores.tolist() == [[1.5, -0.5], [1.0, -np.inf]]
