"""CPU seconds (user + system) that come before the work: of `--help`, and of kernels that are compiled.

| figure | at most |
|---|---|
| `--help` of each command | 0.5 |
| a first `train` of the default model, compared with a second: what it takes to compile kernels | 10 |

`bench_latency.py` has the first answer of a new process.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import emit

import tailwright as tw
from tailwright.cli import command_names

REPEATS = 7
LIMIT, COMPILING_LIMIT = 0.5, 10.0
MODEL = "linear+twin+label-matcher"
ROWS = 2000


def cpu_seconds(arguments: list[str], **variables: str) -> float:
    """User and system time of one process and its children, with these environment variables."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "from tailwright.cli import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "80", **variables}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def trainings(folder: Path) -> dict[str, float]:
    """CPU seconds of a training without kept kernels, and of the next one."""
    tw.write(tw.demo_corpus(ROWS), folder / "data")
    taken = {}
    for name in ("cold", "warm"):
        command = ["train", str(folder / "data"), "--model", MODEL, "--out", str(folder / name)]
        kept = str(folder / "kernels")
        taken[name] = cpu_seconds([*command, "--threads", "1", "--quiet"], NUMBA_CACHE_DIR=kept)
    return taken


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        train = trainings(Path(name))
    compiling = train["cold"] - train["warm"]
    taken = {
        " ".join(["tailwright", *command, "--help"]): statistics.median(
            cpu_seconds([*command, "--help"]) for _ in range(REPEATS)
        )
        for command in command_names()
    }
    emit(
        "startup",
        {
            "cpu_seconds": {name: round(seconds, 3) for name, seconds in taken.items()},
            "worst": round(max(taken.values()), 3),
            "limit": LIMIT,
            "train": {name: round(seconds, 2) for name, seconds in train.items()},
            "compiling": round(compiling, 2),
            "compiling_limit": COMPILING_LIMIT,
            "holds": max(taken.values()) < LIMIT and compiling < COMPILING_LIMIT,
        },
    )


if __name__ == "__main__":
    main()
