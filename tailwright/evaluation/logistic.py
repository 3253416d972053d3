"""Logistic regression with soft targets and weights, by Newton's method: features to log-odds that hold."""

from __future__ import annotations

import numpy as np

NEWTON_STEPS, SMALLEST_STEP = 50, 1e-4
RIDGE = 1e-3  # of the curve
SMALLEST_FACTOR = 1e-4  # of the curve


def logistic_regression(
    features: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    *,
    ridge: float,
    towards: np.ndarray,
    start: np.ndarray,
) -> np.ndarray:
    """(features,) float64: the factors of the log-odds `features @ factors` that fit `targets` best.

    `features` (n, features), `targets` (n,) in [0, 1], `weights` (n,) >= 0. The loss is the weighted cross
    entropy plus `ridge` times the squared distance from `towards`, so that without rows that is the result.

    >>> x = np.array([[1.0, -1.0], [1.0, 1.0]])
    >>> none = np.zeros(2)
    >>> factors = logistic_regression(
    ...     x, np.array([0.1, 0.9]), np.ones(2), ridge=0, towards=none, start=none
    ... )
    >>> (1 / (1 + np.exp(-x @ factors))).round(3).tolist()
    [0.1, 0.9]
    """

    def loss(factors: np.ndarray) -> float:
        log_odds, away = features @ factors, factors - towards
        return float(weights @ (np.logaddexp(0, log_odds) - targets * log_odds) + ridge * away @ away)

    factors = np.array(start, dtype=np.float64)
    for _ in range(NEWTON_STEPS):
        probabilities = 1 / (1 + np.exp(-np.clip(features @ factors, -30, 30)))
        gradient = features.T @ (weights * (probabilities - targets)) + 2 * ridge * (factors - towards)
        curvature = weights * probabilities * (1 - probabilities)
        hessian = (features * curvature[:, None]).T @ features + 2 * ridge * np.eye(len(factors))
        step = np.linalg.solve(hessian, gradient)
        # Far from the optimum a whole step may lead away from it.
        while loss(factors - step) > loss(factors) and np.abs(step).max() > SMALLEST_STEP:
            step = step / 2
        factors = factors - step
        if np.abs(step).max() <= SMALLEST_STEP:
            break
    return factors


def logistic_curve(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(factor > 0, offset) of the log-odds that fit soft `targets` best, by Newton's method.

    >>> scores = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> curve = logistic_curve(scores, np.array([0.1, 0.3, 0.7, 0.9]), np.ones(4))
    >>> bool(curve[0] > 0), bool(abs(curve[1]) < 1e-3)
    (True, True)
    """
    design = np.stack([scores, np.ones_like(scores)], axis=1).astype(np.float64)
    curve = logistic_regression(
        design, targets, weights, ridge=RIDGE, towards=np.zeros(2), start=np.array([1.0, 0.0])
    )
    return np.array([max(curve[0], SMALLEST_FACTOR), curve[1]], dtype=np.float32)
