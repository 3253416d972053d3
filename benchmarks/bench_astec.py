"""ASTEC without and with the augmentations of the Gandalf paper: quality, seconds by phase, peak memory.

    .venv/bin/python benchmarks/bench_astec.py --dataset winapi-seealso --seeds 0,1,2 \
        --variants none,gandalf,gandalf-hard,labelmix,labelmix-hard --out astec.jsonl [--set NAME=VALUE ...]

Each variant and seed is trained in a process of its own and appended to --out as it finishes; one that is
there already, of the same dataset and settings, is not trained again. "-hard" is the paper's "w/o SA":
targets without soft annotations. `--quick` takes the settings in QUICK, which train in much less time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common

import tailwright as tw
from tailwright.models.astec import AstecSettings
from tailwright.settings import settings_from

VARIANTS = ("none", "gandalf", "gandalf-hard", "labelmix", "labelmix-hard")
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
# Fewer clusters, epochs and candidates, no votes of points; rates are higher to make up for fewer steps.
QUICK = {
    "clusters.count": "4096",
    "surrogate.epochs": "8",
    "surrogate.halve": "6",
    "shortlist.size": "200",
    "shortlist.centroids": "200",
    "shortlist.points": "0",
    "candidates.size": "250",
    "candidates.random": "50",
    "extreme.epochs": "5",
    "extreme.rate": "0.005",
    "extreme.halve": "4",
    "extreme.raised": "1.0",
    "rerank.epochs": "5",
    "rerank.rate": "0.01",
    "rerank.halve": "4",
    "rerank.raised": "1.0",
    "stored": "100",
}


def measured(dataset: str, variant: str, seed: int, settings: dict[str, str]) -> dict[str, Any]:
    """One training, and what came of it."""
    corpus = tw.read(common.data_folder() / dataset)
    method, _, hard = variant.partition("-")
    augment = [] if method == "none" else [method]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run = tw.train(
            corpus,
            model="astec",
            augment=augment,
            settings=settings,
            augment_settings={method: {"soft": False}} if hard else None,
            seed=seed,
            out=Path(folder) / "run",
        )
        seconds = time.perf_counter() - start
        log = (Path(folder) / "run" / "log.jsonl").read_text().splitlines()
    peak = common.peak_rss_bytes() / 2**20
    start = time.perf_counter()
    found = tw.evaluate(run, corpus.test)
    events = [json.loads(line) for line in log]
    return {
        **{name: round(found[name], 2) for name in METRICS},
        "train_seconds": round(seconds, 1),
        "evaluate_seconds": round(time.perf_counter() - start, 1),
        "peak_mb": round(peak),
        "expected_peak_mb": next(e["expected_peak_mb"] for e in events if e["event"] == "memory"),
        "seconds_by_phase": {e["phase"]: round(e["seconds"], 1) for e in events if e["event"] == "end"},
    }


def summary(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and range over the seeds."""
    found: dict[str, Any] = {"seeds": len(cells)}
    for name in (*METRICS, "train_seconds", "peak_mb"):
        values = [cell[name] for cell in cells]
        found[name] = {"mean": round(statistics.fmean(values), 2), "range": [min(values), max(values)]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", default="winapi-seealso")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, help="a file of finished cells, one JSON a line")
    parser.add_argument("--cell", action="store_true", help="train the one cell asked for in this process")
    asked = parser.parse_args()
    seeds, variants = [int(seed) for seed in asked.seeds.split(",")], asked.variants.split(",")
    unknown = sorted(set(variants) - set(VARIANTS))
    if unknown:
        parser.error(f"unknown variant {unknown[0]!r}; there are: {', '.join(VARIANTS)}")
    settings = (QUICK if asked.quick else {}) | dict(pair.split("=", 1) for pair in asked.set)
    settings_from(AstecSettings, settings)
    if asked.cell:
        print(json.dumps(measured(asked.dataset, variants[0], seeds[0], settings)))
        return
    done = [json.loads(line) for line in asked.out.read_text().splitlines()] if _exists(asked.out) else []
    cells = []
    for variant in variants:
        for seed in seeds:
            what = {"dataset": asked.dataset, "variant": variant, "seed": seed, "settings": settings}
            cell = next((old for old in done if what.items() <= old.items()), None)
            if cell is None:
                print(f"{variant}, seed {seed} ...", file=sys.stderr, flush=True)
                cell = {**what, **_in_own_process(what)}
                if asked.out is not None:
                    with asked.out.open("a") as file:
                        file.write(json.dumps(cell) + "\n")
            cells.append(cell)
    groups = {variant: [cell for cell in cells if cell["variant"] == variant] for variant in variants}
    results = {variant: summary(group) for variant, group in groups.items()}
    common.emit("astec", {"dataset": asked.dataset, "settings": settings, "variants": results})


def _exists(path: Path | None) -> bool:
    return path is not None and path.exists()


def _in_own_process(what: dict[str, Any]) -> dict[str, Any]:
    """The cell measured by a fresh interpreter, whose peak memory is its own."""
    command = [sys.executable, __file__, "--cell", "--dataset", what["dataset"]]
    command += ["--variants", what["variant"], "--seeds", str(what["seed"])]
    command += [f"--set={name}={value}" for name, value in what["settings"].items()]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
