"""Watching: P@1 on some rows after each epoch, such as training and test rows side by side.

Watching draws nothing and changes no weight, so a watched training ends with the same bits as any other. The
values are logged with the epoch under "watched", the time they took under "watch_seconds". A training that
was killed and resumed may log an epoch twice; the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import Dataset
from tailwright.evaluation import metrics_at_k
from tailwright.evaluation.ranking import TopK

# The k best labels of texts that were read before, by the model as it is at that moment.
Answer: TypeAlias = Callable[[int], TopK]


class Watch:
    """P@1, in percent, of a model in training on named datasets.

    `reading` reads texts once, after the first epoch, and gives what answers for them from then on. All
    datasets are answered for at once, because a model may have to make label vectors for it. Datasets without
    rows are left out.
    """

    def __init__(self, data: Mapping[str, Dataset], reading: Callable[[pa.LargeStringArray], Answer]) -> None:
        self.data = {name: rows for name, rows in data.items() if len(rows)}
        self._reading = reading
        self._answer: Answer | None = None

    def __call__(self) -> dict[str, float]:
        """P@1 of each dataset now."""
        if not self.data:
            return {}
        if self._answer is None:
            self._answer = self._reading(pa.concat_arrays([rows.texts for rows in self.data.values()]))
        spare = max(int(np.diff(rows.excluded.indptr).max()) for rows in self.data.values())
        ids = self._answer(1 + spare).ids  # (rows of all datasets, 1 + spare)
        ends = np.cumsum([len(rows) for rows in self.data.values()])
        return {
            name: metrics_at_k(top, rows.targets, None, (1,), rows.excluded)["P@1"]
            for (name, rows), top in zip(self.data.items(), np.split(ids, ends[:-1]), strict=True)
        }
