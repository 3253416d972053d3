"""Trains a tiny model by the loop, in each process of a team; the leader prints what came of it as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.encoders.row_table import RowTable
from tailwright.streams import stream
from tailwright.training.clipping import AdaptiveClip
from tailwright.training.loop import run_phases
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.phases import Phase, Plan
from tailwright.training.swa import Averaging
from tailwright.training.team import connected, working_together
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

WORDS, WIDTH, LABELS = 15, 4, 6
RATES = {"words": 0.05, "layer": 0.05, "spare": 0.05}


class Network(nn.Module):
    """Word vectors and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = RowTable(stream(0, "words").standard_normal((WORDS, WIDTH), dtype=np.float32))
        self.layer = nn.ParameterDict()
        self.layer["weight"] = torch.from_numpy(
            stream(0, "layer").standard_normal((WIDTH, LABELS), dtype=np.float32)
        )
        self.layer["bias"] = torch.zeros(LABELS)
        self.spare = nn.Parameter(torch.ones(2))  # no loss reaches it


class Tags(Phase):
    """A text is three words, their mean goes through a layer; labels are drawn once."""

    def __init__(self, network, plan, rows=13, drop=0.0):
        super().__init__("tags", rows, plan)
        self.network, self.drop = network, drop
        draws = stream(1, "rows")
        self.words = draws.integers(0, WORDS, (rows, 3))
        self.targets = draws.random((rows, LABELS)) < 0.3
        self.weights = draws.random(rows).astype(np.float32)
        self.validated = 0

    def loss(self, rows, random, epoch):
        distinct, places = np.unique(self.words[rows], return_inverse=True)
        table = self.network.words(distinct)
        features = table[torch.from_numpy(places.reshape(-1, 3))].mean(1)  # (batch, width)
        features = features * torch.from_numpy(random.random(features.shape) >= self.drop)
        scores = features.float() @ self.network.layer["weight"] + self.network.layer["bias"]
        targets = torch.from_numpy(0.8 * self.targets[rows]).float()
        losses = functional.binary_cross_entropy_with_logits(scores, targets, reduction="none").sum(1)
        return losses @ torch.from_numpy(self.weights[rows]) / max(len(rows), 1)

    def validate(self):
        self.validated += 1
        return -float(self.network.layer["weight"].detach().square().sum())


def plan(**settings) -> Plan:
    asked = {"clip": AdaptiveClip(), "averaging": Averaging(1, 2), "weight_decay": 0.1, "patience": 9}
    return Plan(4, 4, RATES, **{**asked, **settings})


def learnt(folder: Path | None = None, *, team=None, resume=False, rows=13, drop=0.0, **settings):
    """(mean loss of each epoch, weights by name) of a training."""
    network = Network()
    phase = Tags(network, plan(**settings), rows, drop)
    writes = team is None or team.leads
    work = Workplace(folder, resume=resume, checkpoint_seconds=0, writes=writes)
    run_phases(ModuleNetwork(network), [phase], seed=3, work=work)
    assert writes or not phase.validated
    weights = weights_of(network)
    if folder is None or not writes:
        return [], weights
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [event["loss"] for event in events if event["event"] == "epoch"], weights


if __name__ == "__main__":
    torch.set_num_threads(1)
    with connected() as team, working_together(team):
        losses, weights = learnt(Path(sys.argv[1]), team=team, **json.loads(sys.argv[2]))
        print(json.dumps([losses, {name: weight.tolist() for name, weight in weights.items()}]))
