"""Settings of a model on held-out training rows: what defaults rest on.

usage: bench_settings.py MODEL [DATASET,...] [OWNER.]NAME=VALUE,VALUE,... ...

One setting after the other is changed, all others at their defaults, which come first. A tenth of the
training rows is held out and scored; the test rows are not touched. One JSON line a fit on stderr as it goes,
all of them on stdout at the end.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import common

import tailwright as tw
from tailwright.data import Corpus

DATASETS = "winapi-seealso,tibkat-keywords-titles"
SHOWN = ("P@1", "P@5", "PSP@1", "PSP@5")


def nested(name: str, value: str) -> dict[str, Any]:
    """`twin.width` and 128 as {"twin": {"width": 128}}."""
    owner, dot, setting = name.partition(".")
    return {owner: {setting: value}} if dot else {name: value}


def main() -> None:
    model, *rest = sys.argv[1:]
    datasets = next((word for word in rest if "=" not in word), DATASETS).split(",")
    changes: list[tuple[str, dict[str, Any]]] = [("defaults", {})]
    for name, _, values in (word.partition("=") for word in rest if "=" in word):
        changes += [(f"{name}={value}", nested(name, value)) for value in values.split(",")]
    results = []
    for dataset in datasets:
        whole = tw.read(common.data_folder() / dataset)
        train, held_out = whole.train.split(0.1, seed=0)
        for what, settings in changes:
            start = time.perf_counter()
            run = tw.train(Corpus(train, whole.labels), model, settings=settings)
            seconds = time.perf_counter() - start
            metrics = tw.evaluate(run, held_out)
            row = {"dataset": dataset, "settings": what, **{m: round(metrics[m], 2) for m in SHOWN}}
            results.append({**row, "train_seconds": round(seconds, 1)})
            print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    common.emit("settings", {"model": model, "results": results})


if __name__ == "__main__":
    main()
