"""A request for labels of texts, and the answer of a run, or of several together.

This is what `predict` does beyond a ranking: it is not what `evaluate` measures. A text of which the models
know nothing (`Model.knows`) gets no labels, whatever they rank first for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError, quoted
from tailwright.evaluation.ranking import PADDING, TopK
from tailwright.runs.label_choice import Labels, allowed_labels
from tailwright.runs.predictions import Predictions
from tailwright.runs.tail import Ranks, Tail, require_probabilities, tail_value

Texts: TypeAlias = str | Sequence[str] | pa.Array | pa.ChunkedArray


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of a run about each text; `Request.of` checks that the run can answer it."""

    k: int = 5
    tail: float = 0.0
    threshold: float | None = None  # labels of a smaller probability are left out
    allowed: np.ndarray | None = None  # (labels,) bool
    abstain: float | None = None  # a text whose best label has a smaller probability gets none

    @staticmethod
    def of(
        run: Ranks,
        k: int,
        tail: Tail,
        threshold: float | None,
        only: Labels | None,
        without: Labels | None,
        abstain: float | None,
    ) -> Request:
        """The request as `Run.predict` takes it; what the run cannot answer is an InputError."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise InputError(f"--k {quoted(k)}", expected="a whole number from 1")
        for name, value in (("--threshold", threshold), ("--abstain", abstain)):
            if value is not None:
                _check_probability(name, value)
            if value:
                require_probabilities(run, name)
        allowed = allowed_labels(run.labels, only, without)
        return Request(int(k), tail_value(run, tail), threshold, allowed, abstain)

    def answer(self, run: Ranks, texts: Texts) -> Predictions:
        """What the run says of the texts; one string is one text."""
        ranked = self.ranked(run, arrow_strings([texts] if isinstance(texts, str) else texts))
        return Predictions.of(ranked.shown, run.labels, None if self.abstain is None else ranked.silent)

    def ranked(self, run: Ranks, rows: pa.LargeStringArray) -> RankedLabels:
        """The same as numbers of labels, with the model's own scores too."""
        top = own = run.top(rows, self.k, tail=self.tail, allowed=self.allowed)
        if run.gives_probabilities:
            top = TopK(top.ids, np.where(top.ids >= 0, run.probabilities(top), -math.inf))
        # In single precision, as scores are shown: a label of 0.7 has at least 0.7.
        silent = ~run.knows(rows)
        if self.abstain:
            silent |= top.scores.max(axis=1, initial=-math.inf) < np.float32(self.abstain)
        left_out = np.repeat(silent[:, None], top.k, axis=1)
        if self.threshold is not None:
            left_out |= top.scores < np.float32(self.threshold)
        return RankedLabels(TopK(np.where(left_out, PADDING, top.ids), top.scores), own.scores, silent)


@dataclass(frozen=True, eq=False)
class RankedLabels:
    """The labels that a request gets for texts; the scores of `shown` are probabilities if there are such."""

    shown: TopK  # padding may stand anywhere
    own_scores: np.ndarray  # (texts, k) float32: what the model gave
    silent: np.ndarray  # (texts,) bool: texts that get no labels


def _check_probability(name: str, value: Any) -> None:
    if isinstance(value, bool | str) or not 0 <= value <= 1:  # NaN is not
        raise InputError(f"{name} {quoted(value)}", expected="a number from 0 to 1")
