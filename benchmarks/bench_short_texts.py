"""What the classifiers of the Gandalf paper cost: seconds an epoch of each phase, a query, peak memory.

    .venv/bin/python benchmarks/bench_short_texts.py [--dataset winapi-seealso] [--models NAME ...]
        [--augment gandalf|none] [--threads 2] [--set MODEL.NAME=VALUE ...]

Each model is trained in a process of its own for one epoch of each of its phases, with its default settings
otherwise, and then asked for five labels of test rows from raw text, one at a time. `training_seconds` is
what all epochs of its default settings would take, and `of_astec` that over astec's. Take ratios from one
run: machines differ, and so do moments.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common

import tailwright as tw
from tailwright.models import models
from tailwright.settings import settings_table
from tailwright.training.threads import THREAD_VARIABLES

# The settings that say how many epochs a phase has, in the order of the phases.
EPOCHS = {
    "astec": ("surrogate.epochs", "extreme.epochs", "rerank.epochs"),
    "decaf": ("surrogate.epochs", "meta.epochs", "extreme.epochs"),
    "eclare": ("surrogate.epochs", "meta.epochs", "extreme.epochs"),
    "inceptionxml": ("training.epochs",),
    "inceptionxml-lf": ("training.epochs", "free_epochs"),
}
SINGLE, WARM, K = 300, 20, 5


def measured(dataset: str, model: str, augment: str, changes: dict[str, str]) -> dict[str, Any]:
    """One epoch of each phase of the model, and some queries."""
    corpus = tw.read(common.data_folder() / dataset)
    with tempfile.TemporaryDirectory() as folder:
        run = tw.train(
            corpus,
            model=model,
            augment=[] if augment == "none" else [augment],
            settings={**dict.fromkeys(EPOCHS[model], 1), **changes},
            seed=0,
            out=Path(folder) / "run",
        )
        events = [json.loads(line) for line in (Path(folder) / "run" / "log.jsonl").read_text().splitlines()]
    epochs = {event["phase"]: event["seconds"] for event in events if event["event"] == "epoch"}
    whole = next(e["seconds"] for e in events if e["event"] == "end" and e["phase"] == "fit")
    peak = common.peak_rss_bytes() / 2**20
    texts = corpus.splits()["test"].texts.to_pylist()[: WARM + SINGLE]
    taken = []
    for text in texts:
        start = time.perf_counter()
        run.predict([text], K)
        taken.append(1000 * (time.perf_counter() - start))
    counts = {setting.name: setting.default for setting in settings_table(models.get(model).Settings)}
    planned = [counts[name] for name in EPOCHS[model]]
    rest = whole - sum(epochs.values())
    return {
        "epoch_seconds": {phase: round(seconds, 1) for phase, seconds in epochs.items()},
        "rows_a_second": {phase: round(run.train_rows / seconds) for phase, seconds in epochs.items()},
        "other_seconds": round(rest, 1),
        "training_seconds": round(rest + sum(n * s for n, s in zip(planned, epochs.values(), strict=True))),
        "query_ms": round(statistics.median(taken[WARM:]), 2),
        "peak_mb": round(peak),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", default="winapi-seealso")
    parser.add_argument("--models", nargs="+", default=list(EPOCHS), choices=list(EPOCHS))
    parser.add_argument("--augment", default="gandalf", choices=("none", "gandalf"))
    parser.add_argument("--threads", default=str(os.cpu_count()))
    parser.add_argument("--set", action="append", default=[], metavar="MODEL.NAME=VALUE")
    parser.add_argument(
        "--alone", action="store_true", help="measure the one model asked for in this process"
    )
    asked = parser.parse_args()
    changes: dict[str, dict[str, str]] = {name: {} for name in EPOCHS}
    for change in asked.set:
        (model, name), value = change.split("=", 1)[0].split(".", 1), change.split("=", 1)[1]
        changes[model][name] = value
    if asked.alone:
        (model,) = asked.models
        print(json.dumps(measured(asked.dataset, model, asked.augment, changes[model])))
        return
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, asked.threads)}
    found: dict[str, Any] = {}
    for model in asked.models:
        command = [sys.executable, __file__, "--alone", "--dataset", asked.dataset, "--models", model]
        command += ["--augment", asked.augment, *(f"--set={change}" for change in asked.set)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        found[model] = json.loads(done.stdout.splitlines()[-1])
        print(model, found[model], file=sys.stderr, flush=True)
    if "astec" in found:
        for cost in found.values():
            cost["of_astec"] = round(cost["training_seconds"] / found["astec"]["training_seconds"], 2)
    common.emit("short_texts", {"dataset": asked.dataset, "augment": asked.augment, "models": found})


if __name__ == "__main__":
    main()
