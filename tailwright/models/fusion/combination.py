"""How a fusion weighs what its parts say: a small network over the features of a candidate.

    score = v x + w relu(W x + b)        x: features scaled to mean 0 and deviation 1 over the held-out rows

It learns on rows that the parts did not see (`learning`). A logistic curve over its scores, fitted to the
same rows, turns them into probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.errors import InputError
from tailwright.models.fusion.candidates import FEATURES_A_PART
from tailwright.store import FolderReader, FolderWriter

NEWTON_STEPS, SMALLEST_STEP = 50, 1e-4
RIDGE = 1e-3


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


def logistic_curve(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(factor > 0, offset) of the log-odds that fit soft `targets` best, by Newton's method.

    >>> scores = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> curve = logistic_curve(scores, np.array([0.1, 0.3, 0.7, 0.9]), np.ones(4))
    >>> bool(curve[0] > 0), bool(abs(curve[1]) < 1e-3)
    (True, True)
    """
    design = np.stack([scores, np.ones_like(scores)], axis=1).astype(np.float64)

    def loss(curve: np.ndarray) -> float:
        log_odds = design @ curve
        return float(weights @ (np.logaddexp(0, log_odds) - targets * log_odds) + RIDGE * curve @ curve)

    curve = np.array([1.0, 0.0])
    for _ in range(NEWTON_STEPS):
        probabilities = 1 / (1 + np.exp(-np.clip(design @ curve, -30, 30)))
        gradient = design.T @ (weights * (probabilities - targets)) + 2 * RIDGE * curve
        curvature = weights * probabilities * (1 - probabilities)
        hessian = (design * curvature[:, None]).T @ design + 2 * RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        # Far from the optimum a whole step may lead away from it.
        while loss(curve - step) > loss(curve) and np.abs(step).max() > SMALLEST_STEP:
            step = step / 2
        curve = curve - step
        if np.abs(step).max() <= SMALLEST_STEP:
            break
    return np.array([max(curve[0], SMALLEST_STEP), curve[1]], dtype=np.float32)
