"""Which model, and which augmentation with it, is best on held-out training rows: what `auto` rests on.

usage: bench_choice.py [DATASET...]

A tenth of the training rows is held out and scored; the test rows are not touched. One JSON line a fit on
stderr as it goes, all of them on stdout at the end.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import common

import tailwright as tw
from tailwright.data import Corpus

DATASETS = ["winapi-seealso", "tibkat-keywords-titles", "yso-finna-en"]
MODELS = ["linear", "twin", "linear+twin", "linear+twin+label-matcher"]
AUGMENTATIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "gandalf": {"augment": ["gandalf"]},
    "gandalf without soft annotations": {
        "augment": ["gandalf"],
        "augment_settings": {"gandalf": {"soft": False}},
    },
}
SHOWN = ("P@1", "P@5", "PSP@1", "PSP@5")


def main() -> None:
    results = []
    for dataset in sys.argv[1:] or DATASETS:
        whole = tw.read(common.data_folder() / dataset)
        train, held_out = whole.train.split(0.1, seed=0)
        corpus = Corpus(train, whole.labels)
        for augmentation, options in AUGMENTATIONS.items():
            for model in MODELS:
                start = time.perf_counter()
                run = tw.train(corpus, model, **options)
                seconds = time.perf_counter() - start
                metrics = tw.evaluate(run, held_out)
                found = {name: round(metrics[name], 2) for name in SHOWN}
                row = {"dataset": dataset, "model": model, "augment": augmentation, **found}
                results.append({**row, "train_seconds": round(seconds, 1)})
                print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    common.emit("choice", {"results": results})


if __name__ == "__main__":
    main()
