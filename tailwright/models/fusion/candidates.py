"""What a fusion looks at: the best labels of all its parts, and what each part says of each of them.

| of each part | |
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

BELOW = 0.5  # how far below its last score a part is taken to see a label that it did not name
SMALLEST = 1e-4  # chances below this are alike
A_PART = 4  # columns of a part


@dataclass(frozen=True, eq=False)
class Candidates:
    """(text, label) pairs, ascending by text and label, and their features."""

    texts: int
    rows: np.ndarray  # (pairs,) int64
    labels: np.ndarray  # (pairs,) int32
    features: np.ndarray  # (pairs, 4 x parts + 1) float32


def candidates_of(found: Sequence[TopK], log_odds: Sequence[bool], counts: np.ndarray) -> Candidates:
    """The union of what the parts `found`.

    `log_odds` says which parts have scores of that kind, those of the others are chances; `counts` (labels,)
    are training rows.
    """
    texts, labels = len(found[0]), max(len(counts), 1)
    every = np.arange(texts)[:, None] * labels  # a pair as one whole number
    pairs = np.unique(np.concatenate([(every + top.ids)[top.ids >= 0] for top in found]))
    rows, ids = np.divmod(pairs, labels)
    features = np.empty((len(pairs), A_PART * len(found) + 1), dtype=np.float32)
    for number, top in enumerate(found):
        named = top.ids >= 0
        places = np.searchsorted(pairs, (every + top.ids)[named])
        scores = top.scores if log_odds[number] else np.log(np.maximum(top.scores, SMALLEST))
        mine = features[:, A_PART * number : A_PART * (number + 1)]
        mine[:] = _unnamed(scores, named)[rows]
        mine[places, 0] = scores[named]
        mine[places, 2] = 0
        mine[places, 3] = np.broadcast_to(1 / (1 + np.arange(top.k)), named.shape)[named]
        mine[:, 1] += mine[:, 0]
    features[:, -1] = np.log1p(counts[ids])
    return Candidates(texts, rows, ids.astype(np.int32), features)


def _unnamed(scores: np.ndarray, named: np.ndarray) -> np.ndarray:
    """(texts, 4): the features of a label that a part did not name, the share without its score."""
    known = np.where(named, scores, -np.inf)
    some = named.any(axis=1)
    best = np.where(some, known.max(axis=1, initial=-np.inf), 0)
    last = np.where(some, np.where(named, scores, np.inf).min(axis=1, initial=np.inf), 0)
    total = best + np.log(np.maximum(np.exp(known - best[:, None]).sum(axis=1), SMALLEST))
    ones = np.ones(len(scores))
    return np.stack([last - BELOW * some, -total * some, ones, 0 * ones], axis=1).astype(np.float32)
