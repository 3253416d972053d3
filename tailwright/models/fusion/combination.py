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

of the label, once, ln(1 + training rows), and of the label's own text (`mentions`):

| feature | |
|---|---|
| stands | 1 if it stands in the text, word for word |
| times | ln(1 + how often) |
| early | 1 - the share of the text before it first stands there; 0 if it does not |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.kernels.candidates import FEATURES_A_PART, candidate_features
from tailwright.kernels.mentions import MENTION_FEATURES
from tailwright.models.fusion.mentions import MentionsOf, no_mentions
from tailwright.store import FolderReader, FolderWriter

BELOW = 0.5  # how far below a part's last score a label is put that the part did not name
SMALLEST = 1e-4  # probabilities below this are alike
# A feature that is the same for all held-out candidates has taught nothing. Divided by this, it says nothing.
LEAST_DEVIATION, NO_DEVIATION = 1e-3, 1e6


def width_of(parts: int) -> int:
    """How many features a candidate of so many parts has."""
    return FEATURES_A_PART * parts + 1 + MENTION_FEATURES


def parts_of_width(features: int) -> int:
    """The parts of candidates with so many features."""
    return (features - width_of(0)) // FEATURES_A_PART


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """(text, label) pairs, ascending by text and label, and their features."""

    texts: int
    rows: np.ndarray  # (pairs,) int64
    labels: np.ndarray  # (pairs,) int32
    features: np.ndarray  # (pairs, 4 x parts + 4) float32

    @staticmethod
    def concat(every: Sequence[CandidateFeatures]) -> CandidateFeatures:
        """The candidates of more texts behind those of others."""
        before = np.cumsum([0, *(candidates.texts for candidates in every)])
        return CandidateFeatures(
            int(before[-1]),
            np.concatenate([one.rows + start for one, start in zip(every, before, strict=False)]),
            np.concatenate([one.labels for one in every]),
            np.concatenate([one.features for one in every]),
        )

    def of_texts(self, texts: np.ndarray) -> CandidateFeatures:
        """The candidates of some texts, given in ascending order, which are then numbered from 0."""
        kept = np.isin(self.rows, texts)
        rows = np.searchsorted(texts, self.rows[kept])
        return CandidateFeatures(len(texts), rows, self.labels[kept], self.features[kept])


def candidates_of(
    tops: Sequence[TopK],
    log_odds: Sequence[bool],
    counts: np.ndarray,
    mentions_of: MentionsOf = no_mentions,
) -> CandidateFeatures:
    """The union of what the parts name.

    `log_odds` says which parts give log-odds; the others give probabilities. `counts` (labels,) are training
    rows.
    """
    ids, scores = np.stack([top.ids for top in tops]), np.stack([top.scores for top in tops])
    found = candidate_features(ids, scores, np.array(log_odds, dtype=bool), counts, BELOW, SMALLEST)
    rows, labels, features = found
    return CandidateFeatures(len(tops[0]), rows, labels, np.hstack([features, mentions_of(rows, labels)]))


def scaling_of(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(mean, deviation), each (features,), of the features (pairs, features) of held-out candidates."""
    deviation = features.std(0)
    return features.mean(0), np.where(deviation < LEAST_DEVIATION, np.float32(NO_DEVIATION), deviation)


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
        features = width_of(parts)
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
    features = width_of(parts)
    direct = np.zeros(features, dtype=np.float32)
    direct[1 : FEATURES_A_PART * parts : FEATURES_A_PART] = 1 / parts
    zeros, ones = np.zeros(features, np.float32), np.ones(features, np.float32)
    none = np.zeros(hidden, np.float32)
    curve = np.array([1, 0], np.float32)
    return Combination(zeros, ones, direct, np.zeros((hidden, features), np.float32), none, none, curve)
