"""Runs picked by hand, as outcomes with unique names, and the rows that they are judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tailwright.data.corpus import Corpus
from tailwright.errors import InputError
from tailwright.study.plan.cells import BASELINE
from tailwright.study.run.exam import Exam, read_source, source_of
from tailwright.study.run.outcomes import Outcome, outcome_of_run


def picked_outcomes(runs: Sequence[Path], data: Path | None = None) -> tuple[list[Outcome], dict[str, Exam]]:
    """An outcome for each run folder, and the exam of each dataset by its name.

    Test rows are those of `data`, or of what each run was trained on. Runs that differ in something that
    titles do not show, such as settings, are told apart by the names of their folders.
    """
    corpora: dict[str, Corpus] = {}
    outcomes: list[Outcome] = []
    exams: dict[str, Exam] = {}
    for folder in runs:
        source = source_of(folder) if data is None else str(data)
        if source not in corpora:
            corpora[source] = read_source(source)
        corpus = corpora[source]
        outcome = outcome_of_run(folder, corpus)
        name = outcome.cell.dataset
        if exams.setdefault(name, Exam(name, corpus)).corpus is not corpus:
            raise InputError(f"found two datasets called {name}", expected="runs on one of them", path=folder)
        outcomes.append(outcome)
    return _with_unique_titles(outcomes), exams


def _with_unique_titles(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Outcomes of one title get the names of their folders, so that each has a line of its own."""
    titles = [outcome.cell.title for outcome in outcomes]
    named = []
    for outcome, title in zip(outcomes, titles, strict=True):
        cell = outcome.cell
        if titles.count(title) > 1 and outcome.folder is not None:
            folder = outcome.folder.name
            if cell.augmentation == BASELINE:
                cell = replace(cell, variant=folder)
            else:
                cell = replace(cell, augmentation=f"{cell.augmentation} ({folder})")
        named.append(replace(outcome, cell=cell))
    return named
