"""Labels by their number of training rows: propensities, and slices from head to tail.

A propensity is how likely a true label is to be annotated, from training counts (Jain et al. 2016).
Annotators miss rare labels more often than frequent ones. PSP and PSnDCG weight hits by the inverse
propensity, so that finding rare labels counts for more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.settings import Settings, setting


@dataclass(frozen=True)
class Propensity(Settings):
    """The two constants of the model.

    With N training rows, n of them with a label, its inverse propensity is
    1 + C (n + b)^-a with C = (ln N - 1) (b + 1)^a: ln N for n = 1, falling to 1 as n grows.
    """

    a: float = setting(0.55, "how fast the propensity rises with the count", above=0)
    b: float = setting(1.5, "what is added to the count", above=0)

    def inverse(self, counts: np.ndarray, rows: int) -> np.ndarray:
        """Inverse propensity of labels with the given training `counts` in `rows` rows, float64.

        >>> Propensity().inverse(np.array([50, 10, 5, 1, 0]), rows=100).round(6).tolist()
        [1.682808, 2.557432, 3.131525, 4.60517, 5.774661]
        """
        if rows < 3:
            # ln N <= 1: frequent labels would count for more than rare ones, some even negatively.
            raise ValueError(f"propensities need at least 3 training rows, got {rows}")
        checked = np.asarray(counts, dtype=np.float64)
        bad = ~((checked >= 0) & (checked <= rows))
        if bad.any():
            raise ValueError(f"counts must be in 0..{rows} (the training rows), got {checked[bad][0]:g}")
        scale = (math.log(rows) - 1.0) * (self.b + 1.0) ** self.a
        return np.asarray(1.0 + scale * (checked + self.b) ** -self.a)


PROPENSITY_PRESETS = {
    "default": Propensity(0.55, 1.5),  # most datasets, AmazonCat-13K among them
    "amazon": Propensity(0.6, 2.6),  # Amazon-670K, Amazon-3M, LF-AmazonTitles-131K
    "wikipedia": Propensity(0.5, 0.4),  # WikiLSHTC-325K, Wikipedia-500K, LF-WikiTitles-500K
}


def inverse_propensity(train_targets: sparse.sparray, a: float = 0.55, b: float = 1.5) -> np.ndarray:
    """Inverse propensity of each label, (labels,) float64, from the original training rows.

    Every stored pair counts as one, whatever its soft value. Pass original rows only
    (`dataset.originals().targets`): augmented rows would make rare labels look frequent.
    """
    if not sparse.issparse(train_targets) or train_targets.ndim != 2:
        raise ValueError(
            f"train_targets must be a sparse matrix (rows, labels), got {type(train_targets).__name__}"
        )
    pairs = sparse.csr_array(train_targets)
    if not pairs.has_canonical_format:
        pairs = pairs.copy()
        pairs.sum_duplicates()
    counts = np.bincount(pairs.indices, minlength=pairs.shape[1])
    return Propensity(a, b).inverse(counts, rows=pairs.shape[0])


@dataclass(frozen=True)
class TailThresholds(Settings):
    """unseen: 0 rows; tail: 1..`tail`; torso: above `tail`, up to `head`; head: above `head`."""

    tail: int = setting(5, "most training rows of a tail label", least=1)
    head: int = setting(50, "most training rows of a torso label", least=1)

    def check(self) -> None:
        if self.head < self.tail:
            raise ValueError(f"head must be >= tail ({self.tail}), got {self.head}")

    def slices(self, counts: np.ndarray) -> dict[str, np.ndarray]:
        """A bool mask over the labels for each slice; every label is in exactly one."""
        counts = np.asarray(counts)
        if counts.ndim != 1 or counts.dtype.kind not in "iu":
            raise ValueError(f"counts must be integers (labels,), got {counts.dtype} {counts.shape}")
        if len(counts) and counts.min() < 0:
            raise ValueError(f"counts must be >= 0, got {counts.min()}")
        return {
            "head": counts > self.head,
            "torso": (counts > self.tail) & (counts <= self.head),
            "tail": (counts >= 1) & (counts <= self.tail),
            "unseen": counts == 0,
        }


def head_torso_tail(counts: np.ndarray, tail: int = 5, head: int = 50) -> dict[str, np.ndarray]:
    """The slices of the labels by training `counts`, for `sliced_metrics`.

    >>> [name for name, mask in head_torso_tail(np.array([0, 5, 6, 51])).items() if mask[1]]
    ['tail']
    """
    return TailThresholds(tail, head).slices(counts)
