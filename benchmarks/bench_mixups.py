"""What each mixup costs: seconds of an epoch and peak memory, beside an epoch without any.

    .venv/bin/python benchmarks/bench_mixups.py [--rows 96] [--models attentionxml la-roberta]
        [--encoder minilm] [--tokens 128] [--repeats 2] [--threads 2] [--quick]

All ways train the same network with the same batches on rows of wikispeedia-links, in turn in one process;
each is measured in its second epoch and later. `la-roberta` has its encoder in the loop, so that all of them
can mix there; `la-roberta frozen` trains its head on kept features, which only tailmix and hiddenmix can. The
peak memory of each is that of a process of its own that trains one epoch.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import common
import torch
from text_rows import some_rows

import tailwright as tw
from tailwright.augmentation import augmenter
from tailwright.data import Corpus
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.training.loop import run_phases
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.workplace import Workplace

DATASET = "wikispeedia-links"
AT_ONCE = {"start_epoch": 0}
# (method, settings) by name; None: no mixup.
WAYS: dict[str, tuple[str, dict[str, Any]] | None] = {
    "none": None,
    "wordmix": ("wordmix", AT_ONCE),
    "hiddenmix": ("hiddenmix", AT_ONCE),
    "tmix": ("tmix", AT_ONCE),
    "ssmix": ("ssmix", AT_ONCE),
    "tailmix": ("tailmix", AT_ONCE),
    "tailmix without its graph": ("tailmix", {**AT_ONCE, "proximity": False}),
}
ATTENTION = {"tree": "flat", "epochs": 1, "batch": 32, "average_from": None}
SHARED_MLP = {"head": "shared-mlp", "epochs": 1, "batch": 32}
# (model, settings, ways that cannot mix there)
CASES: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "attentionxml": ("attentionxml", ATTENTION, {"tmix"}),
    "la-roberta": ("la-roberta", SHARED_MLP, set()),
    "la-roberta frozen": ("la-roberta", {**SHARED_MLP, "frozen": True}, {"wordmix", "tmix", "ssmix"}),
}


def epoch_of(
    case: str, way: str, corpus: Corpus, options: argparse.Namespace, folder: Path
) -> Callable[[], None]:
    """An epoch of training."""
    name, settings, _ = CASES[case]
    kind: Any = models.get(name)
    reads = {"max_length": options.tokens}
    if name == "la-roberta":
        reads = {"max_tokens": options.tokens, "encoder": options.encoder}
    model = kind(settings_from(kind.Settings, {**settings, **reads}))
    chosen = WAYS[way]
    if chosen is not None:
        method: Any = augmenter(*chosen)
        # Neighbours of labels are those of the whole dataset, not of the few rows of an epoch here.
        prepare = partial(method.prepare, tw.read(common.data_folder() / DATASET))
        method.prepare = lambda corpus, **options: prepare(**options)
        model.mixes = [method]
    model._features = folder
    model.build(corpus, seed=0, work=Workplace())
    phases = model.phases(model.texts.tokens(corpus.train.texts), corpus, seed=0, work=Workplace())
    return lambda: run_phases(ModuleNetwork(model.network), phases, seed=0)


def ways_of(case: str) -> list[str]:
    return [way for way in WAYS if way not in CASES[case][2]]


def measured(case: str, corpus: Corpus, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        epochs = {way: epoch_of(case, way, corpus, options, Path(folder)) for way in ways_of(case)}
        for epoch in epochs.values():
            epoch()  # which warms up
        seconds = common.interleaved(epochs, options.repeats)
    peaks = {way: peak_mb(case, way) for way in ways_of(case)}
    return {
        "seconds_an_epoch": {way: round(taken, 3) for way, taken in seconds.items()},
        "times_the_epoch_without": {way: round(taken / seconds["none"], 3) for way, taken in seconds.items()},
        "peak_mb": {way: round(peak, 1) for way, peak in peaks.items()},
        "times_the_peak_without": {way: round(peak / peaks["none"], 3) for way, peak in peaks.items()},
    }


def peak_mb(case: str, way: str) -> float:
    """The peak of a process that trains one epoch."""
    command = [sys.executable, __file__, *sys.argv[1:], "--one", case, way]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ)
    return float(json.loads(done.stdout)["peak_mb"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=96)
    parser.add_argument("--models", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a minute, to see that all of it runs")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.rows, options.tokens, options.repeats = 16, 16, 1
    torch.set_num_threads(options.threads)
    corpus = some_rows(options.rows, labels="all", dataset=DATASET)
    if options.one:
        with tempfile.TemporaryDirectory() as folder:
            epoch_of(*options.one, corpus, options, Path(folder))()
        print(json.dumps({"peak_mb": common.peak_rss_bytes() / 2**20}))
        return
    common.emit(
        "mixups",
        {
            "dataset": DATASET,
            "rows": len(corpus.train),
            "labels": len(corpus.labels),
            **{name: getattr(options, name) for name in ("encoder", "tokens", "threads", "repeats")},
            "models": {case: measured(case, corpus, options) for case in options.models},
        },
    )


if __name__ == "__main__":
    main()
