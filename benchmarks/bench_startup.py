"""CPU seconds (user + system) of `--help` of every command: at most 0.5 each."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys

from common import emit

from tailwright.cli import command_names

REPEATS = 7
LIMIT = 0.5


def cpu_seconds(arguments: list[str]) -> float:
    """User and system time of one process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "from tailwright.cli import main; main()", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "80"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
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
            "holds": max(taken.values()) < LIMIT,
        },
    )


if __name__ == "__main__":
    main()
