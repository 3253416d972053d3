"""A toy corpus as files, plans over it, and the command that runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
from scripts import start_command

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data import Corpus
from tailwright.study.plan.plan import StudyPlan, read_plan

# Quick to start and to train: neither needs torch.
PLAN = """
title = "toy"
seeds = [0, 1]
fractions = [0.5, 1.0]
metrics = ["P@1", "PSP@5"]
[datasets]
toy = "data"
[models.popularity]
[augmentations.none]
[augmentations.gandalf]
"""


def toy_corpus() -> Corpus:
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    return Corpus(train, corpus.labels, test=test)


def write_data(folder: Path) -> Path:
    tw.write(toy_corpus(), folder, format="jsonl")
    return folder


def plan_of(folder: Path, text: str = PLAN) -> StudyPlan:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return read_plan(path)


def command(plan: Path, out: Path, *options: str) -> list[str]:
    code = "from tailwright.cli import main; main()"
    return [sys.executable, "-c", code, "study", str(plan), "--out", str(out), *options]


def study(plan: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end; the command is forked, its workers are processes of their own as ever."""
    script = start_command("study", plan, "--out", out, *options)
    printed, said = script.communicate()
    return subprocess.CompletedProcess(["tailwright", "study"], script.returncode or 0, printed, said)


def is_alive(process: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def workers_of(out: Path) -> list[int]:
    """Processes that work on cells of this study."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if "tailwright.study.run.worker" in (words := process.info["cmdline"] or [])
        and any(word.startswith(str(out)) for word in words)
        and is_alive(process.pid)
    ]
