"""Outcomes that outlast the machine they were made on: kept in a folder, and taken into another study.

An outcome is matched by everything in its key but the version of the code. A study takes nothing on trust:
the data must be its own, the counts those of its rows, and the metrics those of the ranking.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.errors import InputError, quoted
from tailwright.evaluation import metrics_at_k, sliced_metrics
from tailwright.labels import PROPENSITY_PRESETS, head_torso_tail
from tailwright.runs.evaluation import KS
from tailwright.runs.run import read_facts as read_run_facts
from tailwright.store.errors import errors_of_writing
from tailwright.study.plan.cells import Cell, choice_name, choices
from tailwright.study.run.exam import Exam, exam_of
from tailwright.study.run.kept_file import (
    place_of,
    read_facts,
    read_kept,
    remove_unused_counts,
    write_kept,
)
from tailwright.study.run.outcomes import Made, Outcome, is_finished, load_outcome, save_outcome
from tailwright.study.run.runner import Study
from tailwright.study.run.trial import rows_of
from tailwright.study.run.worker import ERROR, locked

_THE_SAME = ("P", "R")  # metrics that mean the same in every version
_ROUNDING = 1e-6
_ALL = ""  # not a slice


@dataclass(frozen=True)
class Kept:
    """How many outcomes were written, and how many cells of the plan have none."""

    written: int
    unchanged: int
    missing: int


def keep_outcomes(study: Study, folder: Path, only: str | None = None) -> Kept:
    """Write the outcomes of finished cells into a folder, beside those that it has of other cells.

    Of a cell that is not finished by today's code, the latest outcome of earlier code is kept, if it is of
    the same data. The study's folder is left as it is.
    """
    cells = study.keys(only)
    unfinished = {key: cell for key, cell in cells.items() if not study.is_finished(key)}
    earlier = _earlier(study, unfinished)
    written = unchanged = 0
    for key, cell in cells.items():
        outcome = earlier.get(key) if key in unfinished else load_outcome(study.place(key))
        if outcome is None:
            continue
        width = _width(exam_of(cell))
        made = outcome.made or Made(outcome.key, study.made[key].data, "")
        named = replace(outcome, cell=cell, top=outcome.top[:, :width])
        if write_kept(named, made, folder):
            written += 1
        else:
            unchanged += 1
    if written:
        remove_unused_counts(folder)
    return Kept(written, unchanged, len(unfinished) - len(earlier))


def take_outcomes(study: Study, folder: Path, only: str | None = None) -> int:
    """Take kept outcomes in for cells that are not finished; returns for how many.

    A cell that another study is working on is left to it. All files are checked before any is taken.
    """
    if not (folder / "cells").is_dir():
        raise InputError("found no outcomes", expected="what `tailwright study --keep` wrote", path=folder)
    found: dict[str, Outcome] = {}
    for key, cell in study.keys(only).items():
        path = place_of(folder, cell.asked(study.made[key].data))
        if not study.is_finished(key) and path.is_file():
            found[key] = _checked(path, cell, key)
    return sum(_put(outcome, study.place(key)) for key, outcome in found.items())


def drop_taken(study: Study, only: str | None = None) -> int:
    """Forget outcomes that were taken in, so that their cells are trained; returns how many."""
    dropped = 0
    for key in study.keys(only):
        place = study.place(key)
        if study.is_finished(key) and load_outcome(place).taken:
            with errors_of_writing(place):
                shutil.rmtree(place / "outcome")
            dropped += 1
    return dropped


def _earlier(study: Study, wanted: Mapping[str, Cell]) -> dict[str, Outcome]:
    """The latest outcome of earlier code, by the key of today's."""
    keys: dict[str, list[str]] = {}
    for key, cell in wanted.items():
        keys.setdefault(cell.asked(""), []).append(key)
    planned = {key for key, _ in study.cells}
    found: dict[str, Outcome] = {}
    for place in _by_age(study.folder / "cells"):
        if place.name in planned:
            continue
        outcome = load_outcome(place)
        for key in keys.get(outcome.cell.asked(""), ()):
            if _data_of(outcome, wanted[key], study.made[key].data) == study.made[key].data:
                found[key] = outcome
    return found


def _by_age(cells: Path) -> Iterator[Path]:
    """Folders of finished cells, the latest last."""
    places = [place for place in cells.glob("*") if is_finished(place)]
    yield from sorted(places, key=lambda place: ((place / "outcome").stat().st_mtime_ns, place.name))


def _data_of(outcome: Outcome, cell: Cell, data: str) -> str:
    """The digest of an outcome's data; an older one does not say it, but its run says which rows it learnt.

    Then it is `data`, that of `cell`, if those are the cell's rows, and else not known.
    """
    if outcome.made is not None:
        return outcome.made.data
    assert outcome.folder is not None  # it was loaded from there
    if not (outcome.folder / "run").is_dir():
        return ""
    return data if read_run_facts(outcome.folder / "run").data.digest == _rows(cell).digest() else ""


def _checked(path: Path, cell: Cell, key: str) -> Outcome:
    """The outcome in a file, as that of the cell; an InputError if it cannot be."""
    exam, facts = exam_of(cell), read_facts(path)
    outcome = read_kept(facts, len(exam.test), _width(exam), exam.test.labels)
    corpus = _rows(cell)
    if outcome.n_train != len(corpus.train) or not np.array_equal(outcome.counts, corpus.labels.counts):
        found = f"found {outcome.n_train:,} training rows, or other counts of labels"
        raise InputError(found, expected=f"the {len(corpus.train):,} rows of {cell.title}", path=path)
    tried = list(choices(cell)) if cell.search else []
    known = {*outcome.searched} == {choice_name(one) for one in tried} and _all_numbers(outcome.searched)
    if not known or outcome.chosen not in (tried or [{}]):
        raise InputError("found other settings that were searched", expected="the plan's", path=path)
    return replace(outcome, cell=cell, key=key, metrics=_checked_metrics(outcome, exam, path))


def _checked_metrics(outcome: Outcome, exam: Exam, path: Path) -> dict[str, Any]:
    """The metrics, with those that the code which made them did not have.

    An InputError unless they are numbers, and those that mean the same in every version the ranking's.
    """
    weights = None
    if outcome.n_train >= 3:  # as in `measured`
        weights = PROPENSITY_PRESETS["default"].inverse(outcome.counts, outcome.n_train)
    ranking = (outcome.top, exam.test.targets, weights)
    right: dict[str, Mapping[str, float]] = {_ALL: metrics_at_k(*ranking, KS, exam.test.excluded)}
    right |= sliced_metrics(*ranking, head_torso_tail(outcome.counts), KS, exam.test.excluded)
    told: dict[str, Any] = {
        _ALL: {name: value for name, value in outcome.metrics.items() if name != "slices"}
    }
    slices = outcome.metrics.get("slices")
    told |= slices if isinstance(slices, dict) else {"slices": slices}
    for name, values in told.items():
        if name not in right or not isinstance(values, dict) or not _all_numbers(values):
            raise InputError(f"found metrics {quoted(values)}", expected="numbers, by slice", path=path)
        for metric, value in right[name].items():
            found = values.get(metric, value)
            if metric.partition("@")[0] in _THE_SAME and abs(found - value) > _ROUNDING:
                raise InputError(f"found {metric} {quoted(found)}", expected=f"{value:.4f}", path=path)
    filled = {name: {**values, **told.get(name, {})} for name, values in right.items()}
    return {**filled.pop(_ALL), "slices": filled}


def _all_numbers(values: Mapping[str, Any]) -> bool:
    return all(type(value) in {int, float} for value in values.values())


def _put(outcome: Outcome, place: Path) -> bool:
    """Make it the cell's outcome, unless another process is working on the cell."""
    with errors_of_writing(place):
        place.mkdir(parents=True, exist_ok=True)
    lock = locked(place)
    if lock is None:
        return False
    try:
        if is_finished(place):
            return False
        save_outcome(outcome, place)
        (place / ERROR).unlink(missing_ok=True)
    finally:
        lock.release()
    return True


def _width(exam: Exam) -> int:
    """How many labels a ranking needs, as `ranked` has it."""
    most_excluded = int(np.diff(exam.test.excluded.indptr).max(initial=0))
    return min(max(KS) + most_excluded, exam.test.labels)


def _rows(cell: Cell) -> Corpus:
    """The rows that the cell trains on; all cells of a dataset and a share have the same."""
    return _share(cell.path, cell.valid, cell.fraction)


@lru_cache(maxsize=4)
def _share(path: str, valid: float, fraction: float) -> Corpus:
    cell = Cell("", path, "", valid=valid, fraction=fraction)
    return rows_of(cell, exam_of(cell).corpus)
