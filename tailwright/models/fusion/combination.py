"""How a fusion weighs what its parts say: a small network over the features of a candidate.

    score = v x + w relu(W x + b)        x: features scaled to mean 0 and deviation 1 over the held-out rows

It learns on rows that the parts did not see (`learning`). A logistic curve over its scores, fitted to the
same rows, turns them into probabilities.

The candidates are the best labels of all parts. The features of a candidate, from each part:

| feature | |
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

from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.store import FolderReader, FolderWriter

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

    def of_texts(self, texts: np.ndarray) -> CandidateFeatures:
        """The candidates of some texts, given in ascending order, which are then numbered from 0."""
        kept = np.isin(self.rows, texts)
        rows = np.searchsorted(texts, self.rows[kept])
        return CandidateFeatures(len(texts), rows, self.labels[kept], self.features[kept])


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


@dataclass(frozen=True, eq=False)
class Combination:
    """The weights of the network, and of the curve that turns its scores into log-odds."""

    mean: np.ndarray  # (features,)
    deviation: np.ndarray  # (features,)
    direct: np.ndarray  # (features,): v
    inner: np.ndarray  # (hidden, features): W
    offset: np.ndarray  # (hidden,): b
    outer: np.ndarray  # (hidden,): w
    curve: np.ndarray  # (2,): factor > 0 and offset of the log-odds

    def log_odds(self, features: np.ndarray) -> np.ndarray:
        """(pairs,) float32 of the candidates' `features` (pairs, features)."""
        x = (features - self.mean) / self.deviation
        scores = x @ self.direct + np.maximum(x @ self.inner.T + self.offset, 0) @ self.outer
        return self.curve[0] * scores + self.curve[1]

    def save(self, folder: FolderWriter) -> None:
        folder.tensors("combination", {name: getattr(self, name) for name in self.__dataclass_fields__})

    @staticmethod
    def load(folder: FolderReader, parts: int, hidden: int) -> Combination:
        """What `save` wrote, checked."""
        features = FEATURES_A_PART * parts + 1
        shapes = {
            **dict.fromkeys(("mean", "deviation", "direct"), (features,)),
            "inner": (hidden, features),
            "offset": (hidden,),
            "outer": (hidden,),
            "curve": (2,),
        }
        tensors = folder.tensors("combination", shapes=shapes)
        for name, tensor in tensors.items():
            wrong = tensor.dtype != np.float32 or not bool(np.isfinite(tensor).all())
            if wrong or (name == "deviation" and not bool((tensor > 0).all())):
                path = folder.path / "combination.safetensors"
                raise InputError(f"found {name} of {tensor.dtype}", expected="finite float32", path=path)
        return Combination(**tensors)


def plain_combination(parts: int, hidden: int) -> Combination:
    """Without rows to learn from: the mean of the parts' shares, which are logarithms of probabilities."""
    features = FEATURES_A_PART * parts + 1
    direct = np.zeros(features, dtype=np.float32)
    direct[1::FEATURES_A_PART] = 1 / parts
    zeros, ones = np.zeros(features, np.float32), np.ones(features, np.float32)
    none = np.zeros(hidden, np.float32)
    curve = np.array([1, 0], np.float32)
    return Combination(zeros, ones, direct, np.zeros((hidden, features), np.float32), none, none, curve)
