"""How the combination of a fusion is learnt, on rows that its parts did not see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids
from tailwright.models.fusion.candidates import A_PART, Candidates
from tailwright.models.fusion.combination import Combination, logistic_curve, plain
from tailwright.streams import stream
from tailwright.training.dense_adam import DenseAdam
from tailwright.training.losses import BlockPairs, decoupled_softmax

STEPS, ROWS_A_STEP = 300, 256
RATE, DECAY = 0.02, 1e-3


def learnt(
    candidates: Candidates, held_out: Dataset, *, hidden: int, emphasis: np.ndarray, seed: int
) -> Combination:
    """The combination that ranks the right labels of the held-out rows before the wrong ones.

    `emphasis` (labels,) multiplies the loss of a right label.
    """
    parts_fused = candidates.features.shape[1] // A_PART
    if not len(candidates.rows):
        return plain(parts_fused, hidden)
    mean, deviation = candidates.features.mean(0), candidates.features.std(0) + 1e-6
    x = torch.from_numpy((candidates.features - mean) / deviation)
    wide = x.shape[1]
    draws = stream(seed, "fusion/weights")
    inner = draws.uniform(-1, 1, (hidden, wide)) / np.sqrt(wide)
    offset = draws.uniform(-1, 1, hidden) / np.sqrt(wide)
    direct = plain(parts_fused, hidden).direct
    parts = [torch.tensor(part, dtype=torch.float32) for part in (direct, inner, offset, np.zeros(hidden))]
    v, w_inner, b, w_outer = (part.requires_grad_() for part in parts)
    optimisers = [DenseAdam(part, DECAY) for part in parts]
    lists = _Lists(candidates, held_out, emphasis)
    for step in range(STEPS):
        rows = stream(seed, "fusion/step", step).integers(0, len(held_out), ROWS_A_STEP)
        pairs, positives, out, weights = lists.take(rows)
        features = x[torch.from_numpy(pairs)]  # (rows, longest list, features)
        scores = features @ v + torch.relu(features @ w_inner.T + b) @ w_outer
        loss = decoupled_softmax(scores, positives, out, weights)
        loss.backward()  # type: ignore[no-untyped-call]
        for optimiser in optimisers:
            optimiser.step(RATE * (1 - step / STEPS))
    weights_of = {"direct": v, "inner": w_inner, "offset": b, "outer": w_outer}
    arrays = {name: part.detach().numpy().copy() for name, part in weights_of.items()}
    found = Combination(mean, deviation, **arrays, curve=np.array([1, 0], np.float32))
    curve = logistic_curve(found.log_odds(candidates.features), lists.targets, lists.weights_of_pairs)
    return replace(found, curve=curve)


class _Lists:
    """The candidates of each held-out row as a list, with what the row says of them."""

    def __init__(self, candidates: Candidates, held_out: Dataset, emphasis: np.ndarray) -> None:
        labels, rows = held_out.labels, candidates.rows
        pairs = rows * labels + candidates.labels
        self.starts = np.searchsorted(rows, np.arange(len(held_out) + 1))
        self.targets = np.zeros(len(pairs), dtype=np.float32)  # (pairs,)
        places, stored = _places(pairs, held_out.targets, labels)
        self.targets[places] = held_out.targets.data[stored]
        self.silent = np.zeros(len(pairs), dtype=bool)  # (pairs,): no loss
        for given in (held_out.ignored, held_out.excluded):
            self.silent[_places(pairs, given, labels)[0]] = True
        self.row_weights = held_out.weights
        self.weights_of_pairs = np.where(self.silent, 0, held_out.weights[rows])
        self.values = self.targets * emphasis[candidates.labels].astype(np.float32)

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, BlockPairs, BlockPairs, torch.Tensor]:
        """(pairs (rows, longest), positives, pairs without loss, row weights) of some rows."""
        first, sizes = self.starts[rows], np.diff(self.starts)[rows]
        place = np.arange(max(int(sizes.max(initial=0)), 1))
        beyond = place >= sizes[:, None]
        pairs = np.where(beyond, 0, first[:, None] + place)
        out = beyond | self.silent[pairs]
        right = (self.values[pairs] > 0) & ~out
        return (
            pairs,
            BlockPairs.of(right.nonzero()[0], right.nonzero()[1], self.values[pairs[right]]),
            BlockPairs.of(out.nonzero()[0], out.nonzero()[1], np.ones(int(out.sum()))),
            torch.from_numpy(self.row_weights[rows]),
        )


def _places(pairs: np.ndarray, given: sparse.csr_array, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """(where in `pairs` stored entries of the CSR matrix `given` are, which entries those are)."""
    _, places, stored = np.intersect1d(
        pairs, row_ids(given) * labels + given.indices, assume_unique=True, return_indices=True
    )
    return places, stored
