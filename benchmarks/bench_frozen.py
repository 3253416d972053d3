"""A frozen encoder whose features are kept, against the same encoder run anew in every epoch.

    .venv/bin/python benchmarks/bench_frozen.py [--rows 500] [--labels carried|all] [--models NAME ...]
        [--max-tokens 512] [--repeats 3] [--threads 2] [--quick]

An epoch trains the head of each model over rows of tibkat-gnd-en, the encoder being minilm. Both ways train
the same head with the same batch, rate and optimiser, in turn; both run the encoder without dropout and
without gradients, and pad a batch to its own longest row, so that the encoder has as little to do as it can.
The time of making the features, once, stands apart, and `pays_after_epochs` says when it has come back.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
from text_rows import DATASET, some_rows

from tailwright.data import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.frozen_features import frozen_features
from tailwright.encoders.mixing import Mixing
from tailwright.encoders.reading import FeatureReader, RowReader
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.models import models
from tailwright.models.shared.token_phase import TokenPhase
from tailwright.settings import settings_from
from tailwright.training.loop import run_phases
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.phases import Plan
from tailwright.training.workplace import Workplace

MODELS = ("roberta", "lightxml", "la-roberta")


@dataclass(frozen=True, eq=False)
class AnewReader:
    """Has the frozen encoder read the rows whenever they are asked for."""

    encoder: TransformerEncoder
    tokens: TokenRows
    mix_points = ("output",)

    @property
    def lengths(self) -> np.ndarray:
        return self.tokens.lengths

    @torch.no_grad()
    def __call__(self, rows: np.ndarray, mixing: Mixing | None = None) -> Encoded:
        self.encoder.eval()  # training the network turns dropout on
        encoded: Encoded = self.encoder(self.tokens.batch(rows))
        return encoded


def epochs_of(
    name: str, corpus: Corpus, options: argparse.Namespace, folder: Path
) -> tuple[dict[str, Callable[[], None]], dict[str, Any]]:
    """One epoch of either way, and what is known of the features."""
    kind: Any = models.get(name)
    chosen = {"encoder": options.encoder, "max_tokens": options.max_tokens, "frozen": True, "epochs": 1}
    model = kind(settings_from(kind.Settings, chosen))
    model._features = folder
    model.build(corpus, seed=0, work=Workplace())
    network, tokens = model.network, model.texts.tokens(corpus.train.texts)
    encoder = network.encoder
    started = time.perf_counter()
    features = frozen_features(encoder, tokens, folder)
    making = time.perf_counter() - started
    readers = {"kept": FeatureReader(features, encoder.device), "anew": AnewReader(encoder, tokens)}
    (stage,) = model.texts.stages(model.settings)
    plan = Plan.of(stage.training, stage.rates)

    def epoch(reader: RowReader) -> Callable[[], None]:
        phase = TokenPhase(name, network, reader, corpus.train, plan)
        return lambda: run_phases(ModuleNetwork(network), [phase], seed=0)

    facts = {
        "tokens_a_row": round(float(tokens.lengths.mean()), 1),
        "features_mb": round(features.vectors.nbytes / 1e6, 1),
        "seconds_of_making_the_features": round(making, 2),
        "largest_difference_of_features": difference(*readers.values()),
    }
    return {way: epoch(reader) for way, reader in readers.items()}, facts


def difference(one: RowReader, other: RowReader) -> float:
    """Between what both ways read of some rows, padding aside."""
    rows = np.arange(8)
    ours, others = one(rows), other(rows)
    apart = (ours.states - others.states).abs()
    return float((apart if ours.mask is None else apart[ours.mask]).max())


def measured(name: str, corpus: Corpus, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        epochs, facts = epochs_of(name, corpus, options, Path(folder))
        epochs["kept"]()  # which warms up
        seconds = common.interleaved(epochs, options.repeats)
    saved = seconds["anew"] - seconds["kept"]
    return {
        **facts,
        "seconds_an_epoch": {way: round(taken, 3) for way, taken in seconds.items()},
        "epochs_a_minute": {way: round(60 / taken, 2) for way, taken in seconds.items()},
        "times_the_epochs_a_minute": round(seconds["anew"] / seconds["kept"], 1),
        "pays_after_epochs": round(facts["seconds_of_making_the_features"] / saved, 2) if saved > 0 else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--labels", choices=("carried", "all"), default="carried")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a minute, to see that all of it runs")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.max_tokens, options.repeats = 64, 64, 1
    torch.set_num_threads(options.threads)
    corpus = some_rows(options.rows, labels=options.labels)
    common.emit(
        "frozen",
        {
            "dataset": DATASET,
            "rows": len(corpus.train),
            "labels": len(corpus.labels),
            **{name: getattr(options, name) for name in ("encoder", "max_tokens", "threads", "repeats")},
            "models": {name: measured(name, corpus, options) for name in options.models},
        },
    )


if __name__ == "__main__":
    main()
