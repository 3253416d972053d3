"""How the combination of a fusion is learnt, on rows that its parts did not see.

By decoupled softmax: each right candidate of a text against the wrong ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids
from tailwright.evaluation.logistic import logistic_curve
from tailwright.models.fusion.combination import (
    CandidateFeatures,
    Combination,
    parts_of_width,
    plain_combination,
    scaling_of,
)
from tailwright.streams import stream
from tailwright.training.array_adam import ArrayAdam
from tailwright.training.losses import decoupled_softmax
from tailwright.training.named_arrays import Arrays
from tailwright.training.threads import blas_threads

STEPS, ROWS_A_STEP = 300, 256
RATE = 0.02
# At each step the weights shrink by this times the rate; without it, few rows are learnt by heart.
FEW_ROWS, DECAY_OF_FEW, DECAY = 1000, 1.0, 1e-3


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows that the parts did not see, the candidates that they name for these, and what they learnt from."""

    rows: Dataset
    candidates: CandidateFeatures
    counts: np.ndarray  # (labels,) int64: rows of each label that they learnt from
    learnt_rows: int

    @staticmethod
    def together(folds: Sequence[JudgedRows]) -> JudgedRows:
        """Rows of parts that learnt from about as many others; of what these are, the first fold says."""
        return replace(
            folds[0],
            rows=Dataset.concat([fold.rows for fold in folds]),
            candidates=CandidateFeatures.concat([fold.candidates for fold in folds]),
        )


def learnt_combination(
    candidates: CandidateFeatures,
    held_out: Dataset,
    *,
    hidden: int,
    emphasis: np.ndarray,
    seed: int,
    rows_a_step: int = ROWS_A_STEP,
) -> Combination:
    """The combination that ranks the right labels of the held-out rows before the wrong ones.

    `emphasis` (labels,) multiplies the loss of a right label.
    """
    start = plain_combination(parts_of_width(candidates.features.shape[1]), hidden)
    if not len(candidates.rows):
        return start
    mean, deviation = scaling_of(candidates.features)
    x = (candidates.features - mean) / deviation
    draws, scale = stream(seed, "fusion/weights"), np.sqrt(x.shape[1])
    arrays = {
        "direct": start.direct,
        "inner": draws.uniform(-1, 1, start.inner.shape) / scale,
        "offset": draws.uniform(-1, 1, hidden) / scale,
        "outer": np.zeros(hidden),
    }
    weights = {name: np.array(array, dtype=np.float32) for name, array in arrays.items()}
    decay = DECAY_OF_FEW if len(held_out) < FEW_ROWS else DECAY
    optimisers = {name: ArrayAdam(weight, decay) for name, weight in weights.items()}
    lists = _CandidateLists(candidates, held_out, emphasis)
    # One thread: the steps are so small that two spend their time waiting for each other.
    with blas_threads(1):
        for step in range(STEPS):
            rows = stream(seed, "fusion/step", step).integers(0, len(held_out), rows_a_step)
            _, gradients = combination_loss(weights, x, *lists.take(rows))
            for name, optimiser in optimisers.items():
                optimiser.add(gradients[name])
                optimiser.step(RATE * (1 - step / STEPS))
    combination = replace(start, mean=mean, deviation=deviation, **weights)
    log_odds = combination.log_odds(candidates.features)
    return replace(combination, curve=logistic_curve(log_odds, lists.targets, lists.pair_weights))


def combination_loss(
    weights: Arrays, x: np.ndarray, pairs: np.ndarray, targets: BatchTargets
) -> tuple[float, Arrays]:
    """The loss of lists of candidates and its gradients, by the names of the weights.

    `pairs` (rows, longest list) are places among the scaled features `x` (pairs, features), -1 beyond the end
    of a list; the targets are numbered by place in a list.
    """
    named = pairs >= 0
    features = x[pairs[named]]  # (named pairs, features)
    hidden = np.maximum(features @ weights["inner"].T + weights["offset"], 0)  # (named pairs, hidden)
    scores = np.zeros(pairs.shape, dtype=np.float32)
    scores[named] = features @ weights["direct"] + hidden @ weights["outer"]
    value, by_score = decoupled_softmax(scores, targets)
    of_scores = by_score[named]
    of_hidden = of_scores[:, None] * weights["outer"] * (hidden > 0)
    return value, {
        "direct": of_scores @ features,
        "inner": of_hidden.T @ features,
        "offset": of_hidden.sum(axis=0),
        "outer": of_scores @ hidden,
    }


def unseen_log_odds(
    candidates: CandidateFeatures, held_out: Dataset, *, hidden: int, emphasis: np.ndarray, seed: int
) -> np.ndarray:
    """(pairs,) float32: each candidate by a combination that has not learnt from its row.

    Each half of the rows teaches the combination that judges the other. One that has learnt from the rows
    themselves is too sure of their rare labels: on cve-libraries a tail of 0.75 seemed to cost 1.3 points of
    P@1, and costs 4.3 in this way.
    """
    log_odds = np.empty(len(candidates.rows), dtype=np.float32)
    by_place = np.argsort(held_out.origin.rows, kind="stable")
    drawn = stream(seed, "fusion/halves").permutation(by_place)
    halves = np.sort(drawn[: len(drawn) // 2]), np.sort(drawn[len(drawn) // 2 :])
    for learnt, judged in (halves, halves[::-1]):
        combination = learnt_combination(
            candidates.of_texts(learnt),
            held_out.take(learnt),
            hidden=hidden,
            emphasis=emphasis,
            seed=seed,
            rows_a_step=ROWS_A_STEP // 2,  # so that each row is seen as often as by the combination of all
        )
        of_half = np.isin(candidates.rows, judged)
        log_odds[of_half] = combination.log_odds(candidates.features[of_half])
    return log_odds


class _CandidateLists:
    """The candidates of each held-out row as a list, with what the row says of them."""

    def __init__(self, candidates: CandidateFeatures, held_out: Dataset, emphasis: np.ndarray) -> None:
        labels, rows = held_out.labels, candidates.rows
        pairs = rows * labels + candidates.labels
        self.starts = np.searchsorted(rows, np.arange(len(held_out) + 1))
        self.targets = np.zeros(len(pairs), dtype=np.float32)  # (pairs,)
        places, stored = _places(pairs, held_out.targets, labels)
        self.targets[places] = held_out.targets.data[stored]
        self.silent = np.zeros(len(pairs), dtype=bool)  # (pairs,): no loss
        for matrix in (held_out.ignored, held_out.excluded):
            self.silent[_places(pairs, matrix, labels)[0]] = True
        learnt = BatchTargets.of(held_out)
        factors = learnt.label_factors(rows, candidates.labels)
        self.row_weights = held_out.weights
        self.pair_weights = np.where(self.silent, 0, held_out.weights[rows] * factors)
        self.values = self.targets * emphasis[candidates.labels].astype(np.float32) * factors

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, BatchTargets]:
        """Pairs of rows (rows, longest list), -1 beyond a list, and their targets times emphasis by place."""
        sizes = np.diff(self.starts)[rows]
        places = np.arange(max(int(sizes.max(initial=0)), 1))
        beyond = places >= sizes[:, None]
        pairs = np.where(beyond, -1, self.starts[rows][:, None] + places)
        ignored = beyond | self.silent[pairs]
        right = (self.values[pairs] > 0) & ~ignored
        targets = BatchTargets(
            _row_starts(right),
            right.nonzero()[1].astype(np.int32),
            self.values[pairs[right]],
            _row_starts(ignored),
            ignored.nonzero()[1].astype(np.int32),
            self.row_weights[rows],
        )
        return pairs, targets


def _row_starts(chosen: np.ndarray) -> np.ndarray:
    """Where each row of a boolean matrix starts among its True cells."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(chosen.sum(axis=1))])


def _places(pairs: np.ndarray, matrix: sparse.csr_array, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """(where in `pairs` stored entries of the CSR matrix are, which entries those are)."""
    _, places, stored = np.intersect1d(
        pairs, row_ids(matrix) * labels + matrix.indices, assume_unique=True, return_indices=True
    )
    return places, stored
