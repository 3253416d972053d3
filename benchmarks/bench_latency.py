"""Answers of a trained default model: a single query, queries in batches, the first one of a new process.

usage: bench_latency.py [DATASET] [MODEL] [--run FOLDER]

Trains the default of the corpus, or the model named, unless it is given a run folder; then asks for five
labels of test rows from raw text: one at a time, and all at once. Then new processes load the run and answer
once, with warm caches: seconds from start to end, and where they went. Beside other work, CPU times are those
to compare. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import common

import tailwright as tw
from tailwright.runs import Run
from tailwright.runs.choice import choose

SINGLE, WARM, K, PROCESSES = 1000, 50, 5, 7
FIRST = """
import json, sys, time
import tailwright as tw
load, imported = tw.load, time.process_time()
run = load(sys.argv[1])
loaded = time.process_time()
run.predict(["a first text"])
print(json.dumps([imported, loaded - imported, time.process_time() - loaded]))
"""


def single(run: Run, texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """Milliseconds of a query that comes alone."""
    for text in texts[:WARM]:
        run.predict([text], K)
    taken, used = [], []
    for text in texts[:SINGLE]:
        start, cpu = time.perf_counter(), time.process_time()
        run.predict([text], K)
        taken.append(1000 * (time.perf_counter() - start))
        used.append(1000 * (time.process_time() - cpu))
    named = {"single_ms": taken, "single_cpu_ms": used}
    return {
        name: {
            "median": round(statistics.median(values), 2),
            "95%": round(statistics.quantiles(values, n=20)[-1], 2),
        }
        for name, values in named.items()
    }


def batched(run: Run, texts: Sequence[str]) -> dict[str, float]:
    """All queries at once."""
    start, cpu = time.perf_counter(), time.process_time()
    run.predict(texts, K)
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    return {
        "batch_queries_a_second": round(len(texts) / seconds),
        "batch_ms_a_query": round(1000 * seconds / len(texts), 3),
        "batch_cpu_ms_a_query": round(1000 * used / len(texts), 3),
    }


def first_answers(folder: Path) -> dict[str, float]:
    """Median seconds of new processes, from their start to their end after one answer."""
    seconds, used, steps = [], [], []
    for _ in range(PROCESSES + 1):
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", FIRST, str(folder)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(time.perf_counter() - start)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        steps.append(json.loads(said))
    # The first one fills the caches of files and of kernels.
    middle = [statistics.median(values) for values in (seconds[1:], used[1:], *zip(*steps[1:], strict=True))]
    names = ("seconds", "cpu_seconds", "imports_cpu", "load_cpu", "answer_cpu")
    return {name: round(value, 3) for name, value in zip(names, middle, strict=True)}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("dataset", nargs="?", default="winapi-seealso")
    arguments.add_argument("model", nargs="?", default="auto")
    arguments.add_argument("--run", type=Path)
    asked = arguments.parse_args()
    corpus = tw.read(common.data_folder() / asked.dataset)
    if asked.run is None:
        run = tw.train(corpus, choose(corpus, asked.model, ("none",)).model)
    else:
        run = tw.load(asked.run)
    texts = corpus.splits()["test"].texts.to_pylist()
    found = {**single(run, texts), **batched(run, texts)}
    with tempfile.TemporaryDirectory() as name:
        folder = asked.run or Path(name) / "run"
        if asked.run is None:
            run.save(folder)
        found["first_answer"] = first_answers(folder)
    about = {"dataset": asked.dataset, "model": run.name, "labels": len(corpus.labels)}
    common.emit("latency", {**about, **found})


if __name__ == "__main__":
    main()
