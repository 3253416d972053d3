"""Gradients of a few rows of a large matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RowGradient = tuple[np.ndarray, np.ndarray]  # distinct row ids, gradient (rows, width)


def added_rows(gradients: Sequence[RowGradient]) -> RowGradient | None:
    """The sum of gradients of rows of one table; None where there are none."""
    if len(gradients) < 2:
        return gradients[0] if gradients else None
    ids, places = np.unique(np.concatenate([rows for rows, _ in gradients]), return_inverse=True)
    total = np.zeros((len(ids), gradients[0][1].shape[1]), dtype=np.float32)
    start = 0
    for rows, gradient in gradients:
        total[places[start : start + len(rows)]] += gradient  # rows are distinct within one gradient
        start += len(rows)
    return ids, total
