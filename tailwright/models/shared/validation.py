"""How good a model in training is on the validation rows, by the metric that a user sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.evaluation import metrics_at_k
from tailwright.labels import PROPENSITY_PRESETS
from tailwright.models import Metric
from tailwright.training.watch import Answer


def validation(
    answering: Callable[[pa.LargeStringArray], Answer], corpus: Corpus, metric: Metric
) -> Callable[[], float] | None:
    """What says how good a model is on the validation rows, as it is when asked; None without such rows.

    `answering` reads texts once and gives what answers for them from then on.
    """
    if corpus.valid is None or not len(corpus.valid):
        return None
    answer = answering(corpus.valid.texts)
    return lambda: valid_quality(answer, corpus, metric)


def valid_quality(answer: Answer, corpus: Corpus, metric: Metric) -> float:
    """The metric, in percent, on `corpus.valid`; `answer(k)` gives the k best labels of its rows."""
    valid = corpus.valid
    assert valid is not None
    k = int(metric.split("@")[1])
    spare = int(np.diff(valid.excluded.indptr).max(initial=0))
    rows = len(corpus.train.originals())
    inverse = PROPENSITY_PRESETS["default"].inverse(corpus.labels.counts, rows) if rows >= 3 else None
    metrics = metrics_at_k(answer(k + spare).ids, valid.targets, inverse, (k,), valid.excluded)
    return metrics.get(metric, metrics[f"P@{k}"])


def has_valid(corpus: Corpus) -> bool:
    """Whether there are rows to validate on."""
    return corpus.valid is not None and len(corpus.valid) > 0
