"""Propensities: how likely a true label is to be annotated, from training counts (Jain et al. 2016).

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
