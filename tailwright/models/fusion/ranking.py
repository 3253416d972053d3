"""From the log-odds of candidates to the ranking of a fusion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailwright.evaluation.ranking import TopK
from tailwright.kernels.candidates import best_candidates
from tailwright.models.fusion.combination import CandidateFeatures

BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))  # nothing is certain


def best_of(candidates: CandidateFeatures, log_odds: np.ndarray, k: int) -> TopK:
    """The k most probable candidates of each text."""
    shape = (candidates.texts, k)
    ids, best = np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32)
    best_candidates(candidates.rows, candidates.labels, log_odds, ids, best)
    probabilities = 1 / (1 + np.exp(-np.clip(best, -60, 60)))
    return TopK(ids, np.where(ids >= 0, np.minimum(probabilities, BELOW_ONE), -np.inf))


def filled(fused: TopK, tops: Sequence[TopK]) -> TopK:
    """Rows with fewer than k candidates get what the parts name beyond, in the order of their places."""
    for row in np.flatnonzero((fused.ids < 0).any(axis=1)):
        ids, scores = fused.ids[row], fused.scores[row]
        have = int((ids >= 0).sum())
        named = np.stack([top.ids[row] for top in tops], axis=1).ravel()  # first places first
        ranked = set(ids[:have].tolist())
        spare = [label for label in dict.fromkeys(named[named >= 0].tolist()) if label not in ranked]
        more = spare[: len(ids) - have]
        ids[have : have + len(more)] = more
        least = scores[have - 1] if have else 1.0
        scores[have : have + len(more)] = least / np.arange(2, len(more) + 2)
    return fused
