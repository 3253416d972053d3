"""Where the time of training goes in the models that read long texts: shares of a step, by stage.

    .venv/bin/python benchmarks/bench_text_models.py [--models NAME ...] [--labels carried all] [--rows 3000]
        [--steps 3] [--max-tokens 512] [--threads 2] [--quick]

Each model takes some steps on rows of tibkat-gnd-en under torch's profiler, with its default settings and all
labels scored at once, over the labels that the rows carry and over all labels of the dataset. A step is cut
where the head begins, so that the backward passes of head and encoder are told apart; head gradients are
computed along with the loss, and are in `head forward`. Checkpoints, averages and validation are not in a
step.

| stage | is |
|---|---|
| data | ids of a batch padded, its targets looked up |
| encoder forward, encoder backward | all up to what the head reads, word vectors included |
| head forward, head backward | scores and loss of all labels |
| optimiser | clipping and Adam, over all weights |

`operators` are the three of each stage with the most time of their own, in shares of the stage.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
from text_rows import DATASET, some_rows
from torch.profiler import ProfilerActivity, profile, record_function

from tailwright.data import Corpus
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.encoded import Encoded
from tailwright.models import models
from tailwright.models.shared.token_phase import TokenPhase
from tailwright.settings import settings_from
from tailwright.training.batches import batch_stream
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.workplace import Workplace

MODELS = ("attentionxml", "la-roberta", "roberta", "lightxml", "xml-cnn")
FLAT = {"attentionxml": {"tree": "flat"}, "lightxml": {"groups": "flat"}}
STAGES = (
    "data",
    "encoder forward",
    "head forward",
    "head backward",
    "encoder backward",
    "optimiser",
)
OPERATORS = 3


def flat_model(name: str, options: argparse.Namespace) -> Any:
    """The model in the form that scores all labels at once."""
    kind: Any = models.get(name)
    settings = dict(FLAT.get(name, {}))
    if hasattr(kind.Settings(), "transformer"):
        settings |= {"encoder": options.encoder, "max_tokens": options.max_tokens}
    return kind(settings_from(kind.Settings, settings))


class Training:
    """A model in training, whose steps name their stages to the profiler."""

    def __init__(self, name: str, corpus: Corpus, options: argparse.Namespace) -> None:
        model, work = flat_model(name, options), Workplace()
        model._features = Path()  # which are not asked for
        model.build(corpus, seed=0, work=work)
        self.network = model.network.train()
        self.tokens = model.texts.tokens(corpus.train.texts)
        self.phase: TokenPhase
        (self.phase,) = model.phases(self.tokens, corpus, seed=0, work=work)
        self.optimisers = ModuleOptimisers(self.network, self.phase.plan)
        self.order = self.phase.prepare(0, 0)["order"]

    def rows(self, number: int) -> np.ndarray:
        batch = self.phase.plan.batch
        return self.order[number * batch : (number + 1) * batch]

    def step(self, number: int) -> None:
        rows = self.rows(number)
        with record_function("data"):
            batch, targets = self.tokens.batch(rows), self.phase.draw.targets(rows)
        with drawing_from(batch_stream(0, self.phase.name, number, 0)):
            with record_function("encoder forward"):
                encoded = self.network.encoder(batch)
            below = encoded.states.detach().requires_grad_()
            with record_function("head forward"):
                loss = self.network(Encoded(below, encoded.mask), targets)
        with record_function("head backward"):
            loss.backward()
        with record_function("encoder backward"):
            encoded.states.backward(below.grad)
        with record_function("optimiser"):
            self.optimisers.step(1.0)


def measured(name: str, corpus: Corpus, options: argparse.Namespace) -> dict[str, Any]:
    training = Training(name, corpus, options)
    training.step(0)  # which warms up
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for number in range(1, options.steps + 1):
            training.step(number)
    spent = dict.fromkeys(STAGES, 0.0)
    own: dict[str, dict[str, float]] = {stage: defaultdict(float) for stage in STAGES}
    for event in found.events():
        if event.name in spent:
            spent[event.name] += event.cpu_time_total
        stage = _stage_of(event)
        if stage is not None:
            own[stage]["outside torch" if event.name == stage else event.name] += event.self_cpu_time_total
    whole = sum(spent.values())
    rows = [training.rows(number) for number in range(1, options.steps + 1)]
    lengths = training.tokens.lengths[np.concatenate(rows)]
    return {
        "batch": training.phase.plan.batch,
        "tokens_a_row": round(float(lengths.mean()), 1),
        "seconds_a_step": round(whole / 1e6 / options.steps, 3),
        "rows_a_second": round(len(lengths) / (whole / 1e6), 2),
        "shares": {stage: round(taken / whole, 3) for stage, taken in spent.items()},
        "operators": {stage: _largest(own[stage], spent[stage]) for stage in STAGES},
    }


def _stage_of(event: Any) -> str | None:
    """The stage of a step that an operator ran in."""
    while event is not None and event.name not in STAGES:
        event = event.cpu_parent
    return None if event is None else str(event.name)


def _largest(times: dict[str, float], whole: float) -> dict[str, float]:
    best = sorted(times.items(), key=lambda pair: -pair[1])[:OPERATORS]
    return {name: round(taken / max(whole, 1e-9), 3) for name, taken in best}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--labels", nargs="+", choices=("carried", "all"), default=["carried", "all"])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a minute, to see that all of it runs")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.steps, options.labels, options.max_tokens = 200, 1, ["carried"], 64
    torch.set_num_threads(options.threads)
    tables = {}
    for labels in options.labels:
        corpus = some_rows(options.rows, labels=labels)
        found = {name: measured(name, corpus, options) for name in options.models}
        tables[f"{len(corpus.labels)} labels"] = found
    settings = ("encoder", "max_tokens", "rows", "steps", "threads")
    common.emit(
        "text_models",
        {"dataset": DATASET, **{name: getattr(options, name) for name in settings}, **tables},
    )


if __name__ == "__main__":
    main()
