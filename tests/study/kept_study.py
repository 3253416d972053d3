"""A finished toy study of four cells and what it keeps, for tests of kept outcomes."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from toy_study import plan_of, write_data

from tailwright.study.run.exam import exam_of
from tailwright.study.run.keeping import keep_outcomes
from tailwright.study.run.outcomes import save_outcome
from tailwright.study.run.runner import Study, prepared, write_down
from tailwright.study.run.trial import tried

PLAN = """
title = "toy"
curves = true
[datasets]
toy = "data"
[models.popularity]
[models.linear]
trees = 1
[augmentations.none]
[augmentations.gandalf]
search = { weight = [0.5, 1.0] }
"""


def finished_and_kept(folder: Path) -> Path:
    """Run the study in `folder / "study"` and keep its outcomes in `folder / "kept"`."""
    write_data(folder / "data")
    study = prepared(plan_of(folder, PLAN), folder / "study")
    write_down(study)
    for key in dict(study.cells):
        finish(study, key)
    keep_outcomes(study, folder / "kept")
    return folder


def finish(study: Study, key: str) -> None:
    """Train a cell in this process."""
    cell = study.keys()[key]
    outcome = tried(cell, key, exam_of(cell), study.place(key))
    save_outcome(replace(outcome, made=study.made[key]), study.place(key))


def bytes_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
