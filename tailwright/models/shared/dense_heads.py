"""The dense head of a model: whole, or the part of a process of a team whose labels are shared out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.errors import InputError
from tailwright.heads.dense import DenseHead
from tailwright.heads.sharded_dense import ShardedDenseHead
from tailwright.models import Model
from tailwright.models.shared.start import BiasStart, start_biases
from tailwright.training.sharing import whole_table
from tailwright.training.team import Team, current_team


def dense_head(
    model: Model, corpus: Corpus, width: int, *, sharded: bool, bias: BiasStart, seed: int, name: str
) -> DenseHead:
    """The untrained head over the labels of a corpus; of a process alone it is whole in any case."""
    team, labels = current_team(), len(corpus.labels)
    if not sharded or team.size == 1:
        head = DenseHead(labels, width, seed=seed, name=name)
        start_biases(head.bias, bias, corpus)
        return head
    if model.mixes:
        mixes = " and ".join(mix.card.name for mix in model.mixes)
        expected = "head.sharded=false, or augmentations that add rows alone"
        raise InputError(f"{mixes} with a sharded head", expected=expected)
    head = ShardedDenseHead(team.part(labels), width, team, seed=seed, name=name)
    start_biases(head.bias, bias, corpus, corpus.labels.counts[head.shard.rows])
    return head


def whole_head(head: Any, folder: Path | None) -> Any:
    """A trained head; a sharded one made whole, on the disk, in every process."""
    if not isinstance(head, ShardedDenseHead):
        return head
    team = head.together
    assert isinstance(team, Team)
    tables: dict[str, np.ndarray] = {
        name: whole_table(parameter.detach().cpu().numpy(), head.shard, team, folder)
        for name, parameter in head.named_parameters()
    }
    return DenseHead.of(tables["weight"], tables["bias"]).to(next(head.parameters()).device)
