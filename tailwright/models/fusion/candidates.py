"""The candidates of a fusion: the best labels of all its parts, and what each part says of each of them.

| feature of each part | |
|---|---|
| score | as a log-odds; for a label that the part did not name, just below its last |
| share | score minus the logarithm of the sum of the exponentials of all that the part named for the text |
| missing | 1 if the part did not name the label |
| place | 1 / (1 + place in the part's ranking), 0 if missing |

and of the label, once, ln(1 + training rows).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailwright.evaluation.ranking import TopK

BELOW = 0.5  # how far below a part's last score a label is put that the part did not name
SMALLEST = 1e-4  # probabilities below this are alike
FEATURES_A_PART = 4


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """(text, label) pairs, ascending by text and label, and their features."""

    texts: int
    rows: np.ndarray  # (pairs,) int64
    labels: np.ndarray  # (pairs,) int32
    features: np.ndarray  # (pairs, 4 x parts + 1) float32


def candidates_of(tops: Sequence[TopK], log_odds: Sequence[bool], counts: np.ndarray) -> CandidateFeatures:
    """The union of what the parts name.

    `log_odds` says which parts give log-odds; the others give probabilities. `counts` (labels,) are training
    rows.
    """
    texts, labels = len(tops[0]), max(len(counts), 1)
    base = np.arange(texts)[:, None] * labels  # a pair as one whole number
    pairs = np.unique(np.concatenate([(base + top.ids)[top.ids >= 0] for top in tops]))
    rows, ids = np.divmod(pairs, labels)
    features = np.empty((len(pairs), FEATURES_A_PART * len(tops) + 1), dtype=np.float32)
    for part, top in enumerate(tops):
        named = top.ids >= 0
        places = np.searchsorted(pairs, (base + top.ids)[named])
        scores = top.scores if log_odds[part] else np.log(np.maximum(top.scores, SMALLEST))
        columns = features[:, FEATURES_A_PART * part : FEATURES_A_PART * (part + 1)]
        columns[:] = _unnamed(scores, named)[rows]
        columns[places, 0] = scores[named]
        columns[places, 2] = 0
        columns[places, 3] = np.broadcast_to(1 / (1 + np.arange(top.k)), named.shape)[named]
        columns[:, 1] += columns[:, 0]
    features[:, -1] = np.log1p(counts[ids])
    return CandidateFeatures(texts, rows, ids.astype(np.int32), features)


def _unnamed(scores: np.ndarray, named: np.ndarray) -> np.ndarray:
    """(texts, 4): the features of a label that a part did not name, the share without its score."""
    known = np.where(named, scores, -np.inf)
    some = named.any(axis=1)
    best = np.where(some, known.max(axis=1, initial=-np.inf), 0)
    last = np.where(some, np.where(named, scores, np.inf).min(axis=1, initial=np.inf), 0)
    total = best + np.log(np.maximum(np.exp(known - best[:, None]).sum(axis=1), SMALLEST))
    ones = np.ones(len(scores))
    return np.stack([last - BELOW * some, -total * some, ones, 0 * ones], axis=1).astype(np.float32)
