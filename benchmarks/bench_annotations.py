"""How far annotations of label texts can be trusted, and what `linear` makes of them.

usage: bench_annotations.py [--held-out] [--seeds 0,1,2] [--fits KIND,KIND...] [--set NAME=VALUE] [DATASET...]

Reliability: the targets of companions, in bins, against what is true on rows that nothing was learnt from.
Own rows are rows whose text is that of a label; shared rows are all rows that carry it. All companions of the
graph are judged, also those that the threshold would drop, so that log losses can be compared.

Quality: that of `linear` without label texts, with the label alone, and with each kind of annotation, a fit
for each seed.

With --held-out, a tenth of the training rows is held out and stands for the test rows: settings are chosen
there. --set changes a setting of `linear`. One JSON line a result on stderr as it goes, all of them on stdout
at the end.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

import common
import numpy as np

import tailwright as tw
from tailwright.augmentation import row_augmenter
from tailwright.data import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids, values_at
from tailwright.labels.calibration import rows_that_are_labels

DATASETS = ["winapi-seealso", "tibkat-keywords-titles", "cooking-se", "yso-finna-en"]
ANNOTATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "w/o SA": ("gandalf", {"soft": False}),
    "SA": ("gandalf", {}),
    "binary": ("gandalf", {"binary": True}),
    "symmetric": ("gandalf", {"normalisation": "symmetric"}),
    "shrink": ("calibrated-gandalf", {"calibration": "shrink"}),
    "learnt": ("calibrated-gandalf", {}),
}
FITS = ["none", "w/o SA", "SA", "shrink", "learnt"]
SHOWN = ("P@1", "P@5", "PSP@1", "PSP@5")
BINS = np.array([0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])
SMALLEST = 1e-3  # a target is as far as this from 0 and from 1 in the log loss


def reliability(corpus: Corpus, rows: Dataset, made: Dataset) -> dict[str, Any]:
    """The targets of `made` for companions, against the truth on `rows`, by the kind of evidence."""
    own = rows_that_are_labels(rows.texts, corpus.labels.texts)
    shared = row_ids(rows.targets), rows.targets.indices
    return {
        kind: _judged(rows, made, *pairs)
        for kind, pairs in (("own rows", own), ("shared rows", shared))
        if len(pairs[0])
    }


def _judged(rows: Dataset, made: Dataset, row: np.ndarray, label: np.ndarray) -> dict[str, Any]:
    place = np.full(made.labels, -1)
    place[made.origin.rows] = np.arange(len(made))
    row, label = row[place[label] >= 0], label[place[label] >= 0]
    annotated = made.targets[place[label]]  # (pairs, labels)
    of_pair = row_ids(annotated)
    others = annotated.indices != label[of_pair]
    target = annotated.data[others].astype(np.float64)
    truth = values_at(rows.targets[row], annotated)[others]
    if not len(target):
        return {"pairs": 0}
    # A label counts as one row, however many it has.
    weight = 1 / np.bincount(label, minlength=made.labels)[label[of_pair[others]]]
    sure = np.clip(target, SMALLEST, 1 - SMALLEST)
    loss = -(truth * np.log(sure) + (1 - truth) * np.log(1 - sure))
    inside = np.digitize(target, BINS[1:-1], right=True)
    bins = {}
    for number in range(len(BINS) - 1):
        here = inside == number
        if here.any():
            bins[f"{BINS[number]:g}-{BINS[number + 1]:g}"] = {
                "share": round(float(weight[here].sum() / weight.sum()), 3),
                "target": round(float(np.average(target[here], weights=weight[here])), 3),
                "truth": round(float(np.average(truth[here], weights=weight[here])), 3),
            }
    return {
        "labels": len(np.unique(label)),
        "pairs": len(target),
        "target": round(float(np.average(target, weights=weight)), 3),
        "truth": round(float(np.average(truth, weights=weight)), 3),
        "log loss": round(float(np.average(loss, weights=weight)), 3),
        "bins": bins,
    }


def quality(
    corpus: Corpus, rows: Dataset, kind: str, settings: dict[str, Any], seed: int
) -> dict[str, float]:
    """The metrics of `linear` on `rows`, trained with this kind of annotation."""
    start = time.process_time()
    method, changed = ANNOTATIONS.get(kind, ("", {}))
    options: dict[str, Any] = {"augment": [method], "augment_settings": {method: changed}} if method else {}
    run = tw.train(corpus, "linear", settings=settings, seed=seed, **options)
    metrics = tw.evaluate(run, rows)
    found = {name: round(metrics[name], 2) for name in SHOWN}
    return {**found, "cpu_seconds": round(time.process_time() - start, 1)}


def tell(row: dict[str, Any]) -> dict[str, Any]:
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument(
        "--fits", default=",".join(FITS), help="kinds of annotation; empty: reliability alone"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args()
    settings = dict(each.split("=", 1) for each in asked.set)
    reliabilities, fits = [], []
    for dataset in asked.datasets:
        corpus = tw.read(common.data_folder() / dataset)
        rows = corpus.test
        if asked.held_out:
            train, rows = corpus.train.split(0.1, seed=0)
            corpus = Corpus(train, corpus.labels)
        for kind, (method, changed) in ANNOTATIONS.items():
            if kind != "w/o SA":
                made = row_augmenter(method, {**changed, "threshold": 0}).new_rows(corpus)
                found = reliability(corpus, rows, made)
                reliabilities.append(tell({"dataset": dataset, "annotations": kind, **found}))
        for kind in filter(None, asked.fits.split(",")):
            results = [
                tell(
                    {"dataset": dataset, "annotations": kind, "seed": seed}
                    | quality(corpus, rows, kind, settings, seed)
                )
                for seed in map(int, asked.seeds.split(","))
            ]
            mean = {name: round(statistics.mean(each[name] for each in results), 2) for name in SHOWN}
            fits.append({"dataset": dataset, "annotations": kind, "seeds": len(results), **mean})
    on = "held-out training rows" if asked.held_out else "test rows"
    common.emit("annotations", {"on": on, "reliability": reliabilities, "linear": fits, "settings": settings})


if __name__ == "__main__":
    main()
