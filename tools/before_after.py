"""Time and memory of two checkouts, measured in turn: before, after, before, after, ...

    python tools/before_after.py BEFORE AFTER [--workloads NAME ...] [--rounds 3] [--data FOLDER]

A workload is a benchmark of the checkout at a small size, or a training by the command line. Every process
starts with the checkout in PYTHONPATH and runs by itself, so that a noisy neighbour disturbs both alike. For
each number the table shows the medians and their ratio, after by before; above 1.05 is slower or larger.
Rates are turned into seconds first. Nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpus_sample import write_sample

ROOT = Path(__file__).resolve().parent.parent
WORSE = 1.05


class Workload(NamedTuple):
    """A command, and where in its JSON output the numbers are; those of `rates` are better when higher."""

    command: Sequence[str]
    numbers: Mapping[str, str]
    rates: frozenset[str] = frozenset()


def training(corpus: str, *options: str) -> Workload:
    command = ["-m", "tailwright", "train", corpus, "--out", "{work}/run", "--overwrite", "--json", *options]
    return Workload(
        command, {"train seconds": "train_seconds", "epoch seconds": "epoch", "peak MB": "peak_rss_mb"}
    )


def settings(**values: object) -> list[str]:
    return [text for name, value in values.items() for text in ("--set", f"{name}={value}")]


FROZEN = ("roberta", "lightxml", "la-roberta")
WORKLOADS = {
    "label attention": Workload(
        [
            "{checkout}/benchmarks/bench_label_attention.py",
            "--labels",
            "10000",
            "--rows",
            "8",
            "--repeats",
            "5",
        ],
        {"step": "batches.0.rows_a_second.ours", "peak MB": "batches.0.peak_mb.ours"},
        frozenset({"step"}),
    ),
    "frozen": Workload(
        [
            "{checkout}/benchmarks/bench_frozen.py",
            *("--encoder", "{encoder}", "--rows", "100", "--max-tokens", "64", "--repeats", "3"),
        ],
        {
            **{f"{name} epoch": f"models.{name}.seconds_an_epoch.kept" for name in FROZEN},
            **{f"{name} features": f"models.{name}.seconds_of_making_the_features" for name in FROZEN},
        },
    ),
    "latency": Workload(
        ["{checkout}/benchmarks/bench_latency.py", "cve-libraries"],
        {"one query, ms": "single_ms.median", "batch": "batch_queries_a_second"},
        frozenset({"batch"}),
    ),
    "attentionxml flat": training(
        "{sample}", "--model", "attentionxml", *settings(epochs=4, tree="flat", average_from=2)
    ),
    "attentionxml tree": training("{sample}", "--model", "attentionxml", *settings(epochs=3, tree="tree")),
    "xml-cnn": training("{sample}", "--model", "xml-cnn", *settings(epochs=3)),
    "la-roberta": training(
        "{sample}", "--model", "la-roberta", *settings(epochs=3, encoder="{encoder}", max_tokens=64)
    ),
    "astec": training("{data}/cve-libraries", "--model", "astec"),
    "defaults, cve-libraries": training("{data}/cve-libraries"),
    "defaults, winapi-seealso": training("{data}/winapi-seealso"),
}


def main() -> None:
    """Run the workloads and print a table a workload."""
    options = _options()
    for checkout in (options.before, options.after):
        if not (checkout / "tailwright").is_dir():
            sys.exit(f"{checkout} has no folder tailwright")
    with tempfile.TemporaryDirectory() as folder:
        places = _prepare(Path(folder), options.data)
        for name in options.workloads:
            _compare(name, WORKLOADS[name], places, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=lambda path: Path(path).resolve())
    parser.add_argument("after", type=lambda path: Path(path).resolve())
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--data", default=os.environ.get("TAILWRIGHT_DATA", str(ROOT.parent / "shared" / "data"))
    )
    return parser.parse_args()


def _prepare(folder: Path, data: str) -> dict[str, str]:
    """A sample of a corpus of long texts, and an encoder as wide as MiniLM with random weights."""
    sys.path.insert(0, str(ROOT / "tests"))
    from tiny_encoders import save_encoder_of

    places = {name: str(folder / name) for name in ("work", "sample", "encoder")}
    write_sample(Path(data, "tibkat-gnd-en"), Path(places["sample"]), 600)
    rows = Path(places["sample"], "train.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(row)["text"] for row in rows]
    save_encoder_of(Path(places["encoder"]), texts, width=384, layers=4, positions=128)
    return {**places, "data": data}


def _compare(name: str, workload: Workload, places: Mapping[str, str], options: argparse.Namespace) -> None:
    taken: dict[Path, list[dict[str, float]]] = {options.before: [], options.after: []}
    for _ in range(options.rounds):
        for checkout, results in taken.items():
            results.append(_run(workload, {**places, "checkout": str(checkout)}, options.threads))
    print(f"{name}\n  {'':24}{'before':>12}{'after':>12}{'ratio':>8}")
    for number in taken[options.before][0]:
        before, after = (
            statistics.median(result[number] for result in results) for results in taken.values()
        )
        ratio = after / before
        print(
            f"  {number:24}{before:12.4g}{after:12.4g}{ratio:8.3f}{'  WORSE' if ratio > WORSE else ''}",
            flush=True,
        )


def _run(workload: Workload, places: Mapping[str, str], threads: int) -> dict[str, float]:
    """The numbers of one process."""
    shutil.rmtree(places["work"], ignore_errors=True)
    Path(places["work"]).mkdir()
    counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
    ours = {"PYTHONPATH": places["checkout"], "TAILWRIGHT_DATA": places["data"], "HF_HUB_OFFLINE": "1"}
    command = [part.format(**places) for part in workload.command]
    done = subprocess.run(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **counts, **ours},
    )
    output = json.loads(done.stdout if done.stdout.startswith("{\n") else done.stdout.splitlines()[-1])
    output["epoch"] = _epoch_seconds(Path(places["work"], "run", "log.jsonl"))
    numbers = {name: _at(output, path) for name, path in workload.numbers.items()}
    return {
        name: 1 / value if name in workload.rates else value
        for name, value in numbers.items()
        if value is not None
    }


def _epoch_seconds(log: Path) -> float | None:
    """The median epoch of the last phase, without the first epoch, in which threads and caches start."""
    if not log.exists():
        return None
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    epochs = [event for event in events if event["event"] == "epoch"]
    last = [event["seconds"] for event in epochs if event["phase"] == epochs[-1]["phase"]]
    return statistics.median(last[1:] or last) if last else None


def _at(output: Any, path: str) -> float | None:
    for key in path.split("."):
        output = output[int(key)] if isinstance(output, list) else output[key]
    return None if output is None else float(output)


if __name__ == "__main__":
    main()
