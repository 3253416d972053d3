"""How good a model in training is on the validation rows, by the metric that a user sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.evaluation import metrics_at_k
from tailwright.labels import PROPENSITY_PRESETS
from tailwright.training.settings import Metric
from tailwright.training.watch import Answer


def validator(
    answering: Callable[[pa.LargeStringArray], Answer], corpus: Corpus, metric: Metric
) -> Callable[[], float] | None:
    """What gives the metric, in percent, on the validation rows at any moment; None without such rows.

    `answering` reads texts once and gives what answers for them from then on.
    """
    valid = corpus.valid
    if valid is None or not len(valid):
        return None
    answer, k = answering(valid.texts), int(metric.split("@")[1])
    asked = k + int(np.diff(valid.excluded.indptr).max())
    rows = len(corpus.train.originals())
    inverse = PROPENSITY_PRESETS["default"].inverse(corpus.labels.counts, rows) if rows >= 3 else None

    def quality() -> float:
        metrics = metrics_at_k(answer(asked).ids, valid.targets, inverse, (k,), valid.excluded)
        return metrics.get(metric, metrics[f"P@{k}"])

    return quality
