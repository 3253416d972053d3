"""The dial for the tail: labels in the order of probability x inverse propensity ** tail.

By probability alone (tail 0) the first k labels are those that are most often right, which P@k measures.
Times the inverse propensity (tail 1) they are those that add most to PSP@k. Nothing is trained, and
probabilities stay what they are: only the order changes, and with it which k labels are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError, quoted
from tailwright.evaluation.ranking import PADDING, TopK
from tailwright.labels import PROPENSITY_PRESETS

ROWS_A_BLOCK = 4096
FEWEST_ROWS = 3  # training rows that propensities need
# Labels that are put into a new order for each that is shown, and at least: docs/tail.md has what more gives.
TIMES, AT_LEAST = 5, 25

Tail: TypeAlias = float | Literal["auto"]


class Ranks(Protocol):
    """What the dial and `predict` need of a run, or of several that answer together."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> LabelSpace: ...
    @property
    def train_rows(self) -> int: ...
    @property
    def gives_probabilities(self) -> bool: ...
    @property
    def recommended_tail(self) -> float | None: ...
    def top(
        self,
        texts: pa.LargeStringArray | Sequence[str],
        k: int,
        excluded: sparse.csr_array | None = None,
        tail: Tail = 0.0,
        allowed: np.ndarray | None = None,
    ) -> TopK: ...
    def probabilities(self, top: TopK) -> np.ndarray: ...
    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray: ...


def tail_value(run: Ranks, tail: Tail) -> float:
    """`tail` as a number: `auto` is what the run recommends; anything but 0 to 1 is an InputError."""
    if tail == "auto":
        if run.recommended_tail is None:
            found = f"--tail auto, but {run.name} was trained without held-out rows to choose it on"
            raise InputError(found, expected="a number from 0 to 1")
        return run.recommended_tail
    if isinstance(tail, str) or not 0 <= tail <= 1:  # NaN is not
        raise InputError(f"--tail {quoted(tail)}", expected="a number from 0 to 1, or auto")
    return float(tail)


def can_dial(run: Ranks) -> bool:
    """Whether the run gives probabilities, and has enough rows for propensities."""
    return run.gives_probabilities and run.train_rows >= FEWEST_ROWS


def check_dial(run: Ranks) -> None:
    """InputError unless the run can be dialled."""
    require_probabilities(run, "--tail")
    if not can_dial(run):
        raise InputError(f"--tail with {run.train_rows} training rows", expected=f"at least {FEWEST_ROWS}")


def require_probabilities(run: Ranks, option: str) -> None:
    """InputError unless the run gives probabilities, which an option needs."""
    if not run.gives_probabilities:
        found = f"{option} with {run.name}, whose scores are no probabilities"
        raise InputError(found, expected="a model that gives probabilities or log-odds")


def tail_weights(counts: np.ndarray, rows: int) -> np.ndarray:
    """(labels,) float64: inverse propensities of labels with so many of the original training `rows`."""
    return PROPENSITY_PRESETS["default"].inverse(counts, rows)


def depth_for(k: int, labels: int) -> int:
    """How many labels a model is asked for where k of them are shown after a new order."""
    return max(k, min(max(TIMES * k, AT_LEAST), labels))


def top_for_tail(
    run: Ranks,
    texts: pa.LargeStringArray | Sequence[str],
    k: int,
    excluded: sparse.csr_array | None,
    tail: float,
    allowed: np.ndarray | None = None,
) -> TopK:
    """The k best (`allowed`) labels of each text at a `tail` above 0; scores stay those of the model."""
    check_dial(run)
    weights = tail_weights(run.labels.counts, run.train_rows)
    rows, depth = arrow_strings(texts), depth_for(k, len(run.labels))
    blocks = [TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))]
    for start in range(0, len(rows), ROWS_A_BLOCK):
        block = rows.slice(start, ROWS_A_BLOCK)
        barred = None if excluded is None else excluded[start : start + len(block)]
        top = run.top(block, depth, barred, allowed=allowed)
        blocks.append(reordered(top, run.probabilities(top), weights, tail, k))
    return TopK.concat(blocks)


def reordered(top: TopK, probabilities: np.ndarray, weights: np.ndarray, tail: float, k: int) -> TopK:
    """The k labels with the largest probability x weight ** tail; equal ones stay in their order.

    >>> top = TopK(np.array([[2, 0, 1]]), np.array([[0.9, 0.5, 0.4]]))
    >>> reordered(top, top.scores, np.array([1.0, 2.0, 1.0]), 1.0, 2).ids.tolist()
    [[2, 1]]
    """
    named = top.ids >= 0
    # Logarithms would not tell apart what is as good as impossible; both factors are far from overflow.
    values = np.where(named, probabilities * weights[np.where(named, top.ids, 0)] ** tail, -1.0)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    ids, scores = (np.take_along_axis(array, order, axis=1) for array in (top.ids, top.scores))
    more = ((0, 0), (0, k - order.shape[1]))
    return TopK(np.pad(ids, more, constant_values=PADDING), np.pad(scores, more, constant_values=-math.inf))
