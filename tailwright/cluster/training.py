"""`train_on`: a model trained on a cluster, in the way that suits it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from tailwright.cluster.connection import Cluster
from tailwright.cluster.team_training import CorpusOnDisk, train_together, trains_together
from tailwright.data.corpus import Corpus
from tailwright.runs.run import Run
from tailwright.runs.training import train

log = logging.getLogger(__name__)


def train_on(
    cluster: Cluster,
    corpus: Corpus,
    model: str,
    *,
    out: Path,
    from_disk: CorpusOnDisk | None = None,
    **asked: Any,
) -> Run:
    """Train a model whose name is known, and save it to `out`; `asked` are other arguments of `train`.

    Workers read the corpus `from_disk`, or are sent it.
    """
    if trains_together(model):
        return train_together(cluster, from_disk or corpus, model, out=out, **asked)
    log.warning("%s is trained by this process alone: no team can train it", model)
    return train(corpus, model=model, out=out, **asked)
