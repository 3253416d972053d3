"""`train_on`: a model trained on a cluster, in the way that suits it.

`linear` and the parts of a fusion come in pieces, which become tasks; a torch model is trained by a team. In
Python, whatever fits a model hands its pieces to the workers inside such a block:

    with connected("ray", workers=2) as cluster, executing_on(RayTasks(cluster)):
        run = tw.train("data/", out="run/")
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from tailwright.cluster.connection import Cluster
from tailwright.cluster.tasks import RayTasks
from tailwright.cluster.team_training import CorpusOnDisk, train_together, trains_together
from tailwright.data.corpus import Corpus
from tailwright.models import models
from tailwright.runs.run import Run
from tailwright.runs.training import train
from tailwright.training.executor import executing_on

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
    if not comes_in_pieces(model):
        log.warning("%s is trained by this process alone: on a cluster it would be no quicker", model)
    with executing_on(RayTasks(cluster)):
        return train(corpus, model=model, out=out, **asked)


def comes_in_pieces(model: str) -> bool:
    """Whether a fit hands pieces to the workers: trees, shards of labels, or light parts of a fusion."""
    parts = model.split("+")
    return parts == ["linear"] or (len(parts) > 1 and not all(models.card(part).extra for part in parts))
