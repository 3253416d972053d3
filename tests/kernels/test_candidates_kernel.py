"""The kernel of a fusion's candidates against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.evaluation.ranking import TopK
from tailwright.kernels.candidates import best_candidates, candidate_features
from tailwright.models.fusion.combination import BELOW, SMALLEST


def plain_candidates(
    tops: list[TopK], log_odds: list[bool], counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same as the kernel, by NumPy."""
    base = np.arange(len(tops[0]))[:, None] * len(counts)  # a pair as one whole number
    pairs = np.unique(np.concatenate([(base + top.ids)[top.ids >= 0] for top in tops]))
    rows, labels = np.divmod(pairs, len(counts))
    features = np.empty((len(pairs), 4 * len(tops) + 1), dtype=np.float32)
    for part, top in enumerate(tops):
        named = top.ids >= 0
        places = np.searchsorted(pairs, (base + top.ids)[named])
        scores = top.scores if log_odds[part] else np.log(np.maximum(top.scores, SMALLEST))
        columns = features[:, 4 * part : 4 * (part + 1)]
        columns[:] = unnamed(scores, named)[rows]
        columns[places, 0] = scores[named]
        columns[places, 2] = 0
        columns[places, 3] = np.broadcast_to(1 / (1 + np.arange(top.k)), named.shape)[named]
        columns[:, 1] += columns[:, 0]
    features[:, -1] = np.log1p(counts[labels])
    return rows, labels, features


def unnamed(scores: np.ndarray, named: np.ndarray) -> np.ndarray:
    """(texts, 4): the features of a label that a part did not name, the share without its score."""
    known = np.where(named, scores, -np.inf)
    some = named.any(axis=1)
    best = np.where(some, known.max(axis=1, initial=-np.inf), 0)
    last = np.where(some, np.where(named, scores, np.inf).min(axis=1, initial=np.inf), 0)
    total = best + np.log(np.maximum(np.exp(known - best[:, None]).sum(axis=1), SMALLEST))
    ones = np.ones(len(scores))
    return np.stack([last - BELOW * some, -total * some, ones, 0 * ones], axis=1)


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
    expected = plain_candidates(tops, [False, True], counts)
    found = candidate_features(ids, scores, np.array([False, True]), counts, BELOW, SMALLEST)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-5, atol=1e-5)


def test_no_texts_have_no_candidates() -> None:
    none = np.empty((2, 0, 3), np.int32), np.empty((2, 0, 3), np.float32)
    rows, labels, features = candidate_features(*none, np.array([False, True]), np.zeros(4, int), 0.5, 1e-4)
    assert (len(rows), len(labels), features.shape) == (0, 0, (0, 9))


@pytest.mark.parametrize("k", [1, 3, 30])
def test_the_best_candidates_are_those_of_a_full_sort(k):
    random = np.random.default_rng(0)
    counts = random.integers(0, 12, 40)  # candidates of each text; of some none
    rows = np.repeat(np.arange(40), counts)
    labels = np.concatenate([np.sort(random.permutation(50)[:count]) for count in counts]).astype(np.int32)
    log_odds = random.integers(-3, 4, len(rows)).astype(np.float32)  # with many ties
    ids, best = np.full((40, k), -1, np.int32), np.full((40, k), -np.inf, np.float32)
    best_candidates(rows, labels, log_odds, ids, best)
    for text in range(40):
        mine = np.flatnonzero(rows == text)
        order = mine[np.lexsort((labels[mine], -log_odds[mine]))][:k]
        assert ids[text, : len(order)].tolist() == labels[order].tolist()
        assert best[text, : len(order)].tolist() == log_odds[order].tolist()
        assert (ids[text, len(order) :] == -1).all()
