"""How good a model in training is on the validation rows, by the metric that a user sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.evaluation import metrics_at_k
from tailwright.evaluation.ranking import TopK
from tailwright.labels import PROPENSITY_PRESETS

Metric = Literal["P@1", "P@5", "nDCG@5", "PSP@1", "PSP@5"]


def valid_quality(answer: Callable[[int], TopK], corpus: Corpus, metric: Metric) -> float:
    """The metric, in percent, of the k best labels of `corpus.valid`, which `answer(k)` gives."""
    held_out = corpus.valid
    assert held_out is not None
    k = int(metric.split("@")[1])
    spare = int(np.diff(held_out.excluded.indptr).max(initial=0))
    rows = len(corpus.train.originals())
    inverse = PROPENSITY_PRESETS["default"].inverse(corpus.labels.counts, rows) if rows >= 3 else None
    found = metrics_at_k(answer(k + spare).ids, held_out.targets, inverse, (k,), held_out.excluded)
    return found.get(metric, found[f"P@{k}"])


def has_valid(corpus: Corpus) -> bool:
    """Whether there are rows to validate on."""
    return corpus.valid is not None and len(corpus.valid) > 0
