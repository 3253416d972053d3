"""Scarcity: too little memory, too few files, too small files, a full disk; then the same with enough.

A command that has too little ends with one line, and leaves nothing that keeps it from doing well later.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

import numpy as np
import psutil

from fault_parts import Outcome, Trial
from fault_parts.children import Command
from fault_parts.crowds import quick_jobs
from fault_parts.jobs import difference
from fault_parts.references import LONGEST, reference

MB = 1 << 20
KINDS = ("memory", "open files", "size of a file", "disk")


class Scarcity:
    """The light jobs in turn, each with one thing scarce."""

    name, share, patience = "scarcity", 0.05, 3 * LONGEST

    def count(self, place: Path) -> int | None:
        return None

    def trial(self, trial: Trial) -> Outcome:
        every = quick_jobs(trial.place)
        job, draw = every[trial.number % len(every)], trial.draw()
        known, kind = reference(job, trial.place), KINDS[draw.integers(len(KINDS))]
        out, said = trial.scratch / "out", trial.scratch / "said"
        out.mkdir()
        with ExitStack() as stack:
            if kind == "disk":
                if not can_mount(trial.place):
                    return Outcome(f"{job.name}: a small disk", "left out, as nothing may be mounted here")
                size = int(4096 * 2 ** draw.uniform(0, 7))
                _mount(out, f"size={size}")
                stack.callback(subprocess.run, ["umount", "--lazy", out], check=False)
                limit, amount = (lambda: None), f"{size} bytes"
            else:
                limit, amount = _limit(kind, draw)
            done = f"{job.name} with little of: {kind} ({amount})"
            words = job.words_for(trial.place, out)
            scarce = Command(words, said, limit).wait_for(LONGEST)
            if scarce is None:
                return Outcome(done, "does not end", f"does not end within {LONGEST:g} s")
            if problem := scarce.problem(0, 1, 2):
                return Outcome(done, "crashed", problem)
            if kind == "disk":
                _mount(out, f"remount,size={64 * MB}")
            again = Command([*words, *job.again], trial.scratch / "again").wait_for(LONGEST)
            problem = "does not end" if again is None else again.problem(0)
            problem = problem or difference(known.content, job.content(out))
            came = "one line" if scarce.code else "enough of it"
            return Outcome(done, came, f"with enough of it again: {problem}" if problem else "")


def _limit(kind: str, draw: np.random.Generator) -> tuple[Callable[[], None], str]:
    """What limits the process from within, and how tightly."""
    if kind == "memory":
        amount = int(MB * 2 ** draw.uniform(-4, 8))
        return partial(_less_memory, amount), f"{amount} bytes more than it has"
    if kind == "open files":
        amount = int(draw.integers(3, 40))
        return partial(_set, resource.RLIMIT_NOFILE, amount), f"{amount}"
    amount = int(2 ** draw.uniform(0, 14))
    return partial(_set, resource.RLIMIT_FSIZE, amount), f"{amount} bytes"


def _less_memory(more: int) -> None:
    _set(resource.RLIMIT_AS, psutil.Process().memory_info().vms + more)


def _set(which: int, amount: int) -> None:
    resource.setrlimit(which, (amount, resource.getrlimit(which)[1]))


@cache
def can_mount(place: Path) -> bool:
    """Whether this process may mount a file system."""
    folder = place / "mounted"
    folder.mkdir(exist_ok=True)
    able = subprocess.run(_mounting(folder, "size=64k"), capture_output=True, check=False).returncode == 0
    if able:
        subprocess.run(["umount", folder], check=True)
    return able


def _mount(folder: Path, options: str) -> None:
    subprocess.run(_mounting(folder, options), check=True)


def _mounting(folder: Path, options: str) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
