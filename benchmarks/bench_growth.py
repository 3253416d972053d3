"""How time and memory of the default model grow with the number of labels, on generated corpora.

    .venv/bin/python benchmarks/bench_growth.py 30000 120000 [--threads 1] [--work FOLDER]
    .venv/bin/python benchmarks/bench_growth.py --corpus shared/data/winapi-seealso

A corpus of L labels has 1.6 L training rows with two positives a label on average; `generated.py` says what
they are.

Each corpus is trained by `tailwright train` in a process of its own. Reported are its seconds, CPU seconds
and peak memory beside the peak that the run logged before it trained anything, the seconds and peak of each
phase, and metrics on generated test rows. The first run of a checkout compiles kernels, which takes time and
memory: run a small size first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common
from generated import write_corpus

ROWS_A_LABEL = 1.6


def trained(corpus: Path, run: Path, threads: int, options: list[str]) -> dict[str, Any]:
    """What one training took and gave."""
    command = [sys.executable, "-m", "tailwright", "train", str(corpus), "--out", str(run)]
    command += ["--threads", str(threads), "--json", "--quiet", *options]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    result = json.loads(printed.splitlines()[-1])
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    forecasts = [event["expected_peak_mb"] for event in events if event["event"] == "memory"]
    peak = result["peak_rss_mb"]
    return {
        "model": result["model"],
        "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": peak,
        "forecast_mb": forecasts[0],
        "forecast_to_peak": round(forecasts[0] / peak, 3),
        "forecasts_of_parts_mb": forecasts[1:],
        "metrics": {
            name: round(value, 2) for name, value in result["metrics"].items() if name in ("P@1", "PSP@5")
        },
        "phases": [
            {"phase": event["phase"], "seconds": event["seconds"], "peak_mb": event["peak_rss_mb"]}
            for event in events
            if event["event"] == "end"
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labels", type=int, nargs="*", help="sizes of generated corpora")
    parser.add_argument(
        "--corpus", type=Path, action="append", default=[], help="a real corpus, measured too"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the generated corpora")
    parser.add_argument("--work", type=Path, help="where corpora and runs are kept; without it, nowhere")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as for train")
    asked = parser.parse_args()
    options = [word for assignment in asked.set for word in ("--set", assignment)]
    with tempfile.TemporaryDirectory() as temporary:
        work = asked.work or Path(temporary)
        results = []
        for labels in asked.labels:
            corpus = work / f"corpus-{labels}-{asked.seed}"
            if not corpus.exists():
                write_corpus(corpus, labels, int(ROWS_A_LABEL * labels), asked.seed)
            run = work / f"run-{labels}-{asked.seed}"
            results.append(
                {"labels": labels, **trained(corpus, run, asked.threads, [*options, "--overwrite"])}
            )
            print(json.dumps(results[-1]), file=sys.stderr)
        for corpus in asked.corpus:
            run = work / f"run-{corpus.name}"
            results.append(
                {"corpus": corpus.name, **trained(corpus, run, asked.threads, [*options, "--overwrite"])}
            )
            print(json.dumps(results[-1]), file=sys.stderr)
    common.emit("growth", {"threads": asked.threads, "results": results})


if __name__ == "__main__":
    main()
