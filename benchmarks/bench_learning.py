"""Whether the models of a study learn: quality on held-out training rows, and what their phases say.

    TAILWRIGHT_DATA=data .venv/bin/python benchmarks/bench_learning.py studies/gandalf.toml \\
        [--dataset winapi-seealso] [--share 0.2] [--systems linear "astec (quick)" ...] \\
        [--augment none gandalf] [--set "decaf (quick).beam.size=100" ...]

A tenth of the training rows is held out and scored; the test rows are not touched. `--share` takes that share
of the labels, with all of their rows. Models are trained as in the study, in turn in this process. `losses`
has the first and the last epoch of each phase, `reached` the share of positives among the candidates, when it
was first and last logged. `cpu_seconds` are of the process, whatever else runs. One JSON line a training on
stderr as it goes, all of them on stdout at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common

import tailwright as tw
from tailwright.data import Corpus, Dataset
from tailwright.study.plan.cells import Cell
from tailwright.study.plan.miniature import draw_order, miniature
from tailwright.study.plan.plan import read_plan

SHOWN = ("P@1", "P@5", "PSP@1", "PSP@5", "R@10")


def learnt(cell: Cell, corpus: Corpus, held_out: Dataset, changes: dict[str, str]) -> dict[str, Any]:
    """One training, its metrics on held-out rows, and what its log says."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = tw.train(
            corpus,
            cell.model,
            augment=cell.augment,
            settings={**cell.settings, **changes},
            augment_settings=cell.augment_settings,
            seed=cell.seed,
            out=Path(folder) / "run",
        )
        seconds = time.process_time() - start
        log = [json.loads(line) for line in (Path(folder) / "run" / "log.jsonl").read_text().splitlines()]
    metrics = tw.evaluate(run, held_out)
    losses: dict[str, list[float]] = {}
    for event in (event for event in log if event["event"] == "epoch"):
        losses.setdefault(event["phase"], []).append(event["loss"])
    reached = [event.get("share", event.get("reached")) for event in log if event["event"] == "reach"]
    return {
        **{name: round(metrics[name], 2) for name in SHOWN},
        "cpu_seconds": round(seconds, 1),
        "losses": {phase: [f"{loss:.4g}" for loss in (of[0], of[-1])] for phase, of in losses.items()},
        "reached": reached[:1] + reached[1:][-1:],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--dataset", default="winapi-seealso")
    parser.add_argument("--share", type=float, default=1.0, help="of the labels")
    parser.add_argument(
        "--systems", nargs="+", default=[], help="as the study's tables name them; all if left out"
    )
    parser.add_argument("--augment", nargs="+", default=["none"], help="names of the plan")
    parser.add_argument("--set", action="append", default=[], metavar="SYSTEM.NAME=VALUE")
    asked = parser.parse_args()
    cells = {
        (cell.augmentation, cell.system): cell
        for cell in reversed(read_plan(asked.plan).listed)
        if cell.dataset == asked.dataset and cell.augmentation in asked.augment
    }
    cells = {name: cell for name, cell in cells.items() if not asked.systems or cell.system in asked.systems}
    if not cells:
        parser.error(f"no cell of {asked.plan} is asked for")
    changes: dict[str, dict[str, str]] = {}
    for change in asked.set:
        system = next((cell.system for cell in cells.values() if change.startswith(f"{cell.system}.")), None)
        if system is None:
            parser.error(f"{change!r} begins with no system that is asked for")
        name, _, value = change.removeprefix(f"{system}.").partition("=")
        changes.setdefault(system, {})[name] = value
    whole = tw.read(common.data_folder() / asked.dataset)
    whole = Corpus(whole.train, whole.labels)
    small = miniature(whole, asked.share, draw_order(whole))
    train, held_out = small.train.split(0.1, seed=0)
    results = []
    for cell in reversed(cells.values()):
        found = learnt(cell, Corpus(train, small.labels), held_out, changes.get(cell.system, {}))
        results.append({"system": cell.system, "augment": cell.augmentation, **found})
        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    common.emit(
        "learning", {"dataset": asked.dataset, "rows": len(train), "set": asked.set, "results": results}
    )


if __name__ == "__main__":
    main()
