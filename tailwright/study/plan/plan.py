"""`StudyPlan`: the experiment that a TOML file describes, as the list of cells to train.

docs/studies.md explains the keys, `studies/` has examples. Every dataset x model x augmentation x fraction x
seed is a cell, except where a model lacks an augmentation's door: such pairs are left out and listed.
Anything else that is wrong is an error before anything runs.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tailwright.augmentation import augmenters
from tailwright.errors import InputError
from tailwright.runs.evaluation import KS
from tailwright.runs.training import check_door
from tailwright.study.plan.axes import Augmentation, Data, System, augmentations_in, datasets_in, systems_in
from tailwright.study.plan.cells import Cell
from tailwright.study.plan.toml_table import Table, read_table

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
_KEYS = (
    *("title", "seeds", "fractions", "valid", "metrics", "against", "curves", "search_metric"),
    *("datasets", "models", "augmentations"),
)


@dataclass(frozen=True)
class StudyPlan:
    """A study before it is run."""

    title: str
    metrics: tuple[str, ...]  # columns of its tables
    against: str  # the system that all are compared with; empty: each with its own baseline
    curves: bool  # whether some rows are judged after each epoch
    listed: tuple[Cell, ...]  # by dataset, model, augmentation, fraction and seed, in the file's order
    left_out: tuple[str, ...]  # impossible combinations, each with the reason
    text: str  # of the file

    def cells(self) -> list[Cell]:
        """The cells in the order in which they run: cheap cells and baselines first.

        The first seed of everything comes before the second of anything, small fractions before large ones,
        baselines before augmentations and these before ensembles of them, so that a study that is stopped
        early has complete tables.
        """
        turn: dict[tuple[str, str, str, float], int] = {}
        order = []
        for place, cell in enumerate(self.listed):
            group = (cell.dataset, cell.system, cell.augmentation, cell.fraction)
            turn[group] = turn.get(group, -1) + 1
            kind = 2 if cell.ensemble else int(bool(cell.augment))
            order.append((turn[group], cell.fraction, kind, place))
        return [self.listed[place] for *_, place in sorted(order)]


def read_plan(path: Path) -> StudyPlan:
    """The plan in a TOML file; anything wrong in it is an InputError that names the key."""
    top = read_table(path)
    top.refuse_other_keys(_KEYS)
    metrics = tuple(top.names("metrics", METRICS))
    search_metric = top.text("search_metric", "P@1")
    # What `tailwright.evaluate` computes.
    known = [f"{kind}@{k}" for kind in ("P", "nDCG", "PSP", "PSnDCG", "R") for k in KS]
    for name in (*metrics, search_metric):
        top.refuse_unknown("metric", name, known)
    valid = top.number("valid", 0.1)
    if not 0 <= valid < 1:
        raise top.wrong(f"valid: found {valid}", "a share of the training rows in [0, 1)")
    pattern = Cell(dataset="", path="", model="", valid=valid, search_metric=search_metric)
    datasets, systems, augmentations = datasets_in(top), systems_in(top), augmentations_in(top)
    listed, left_out = _crossed(top, pattern, datasets, systems, augmentations)
    if not listed:
        raise top.wrong("found no cell that can be trained", "; ".join(left_out))
    return StudyPlan(
        title=top.text("title", path.stem),
        metrics=metrics,
        against=_against(top, systems),
        curves=top.switch("curves", False),
        listed=tuple(listed),
        left_out=tuple(left_out),
        text=top.source,
    )


def _against(top: Table, systems: Sequence[System]) -> str:
    """The name, in tables, of the system that the plan compares all others with."""
    title = top.text("against", "")
    names = {system.title: system.name for system in systems}
    if title:
        top.refuse_unknown("model", title, names)
    return names.get(title, "")


def _crossed(
    top: Table,
    pattern: Cell,
    datasets: Sequence[Data],
    systems: Sequence[System],
    augmentations: Sequence[Augmentation],
) -> tuple[list[Cell], list[str]]:
    """Every possible cell, and a line for each impossible pair of model and augmentation."""
    possible, left_out = [], []
    named = {added.name: added for added in augmentations}
    for system, added in itertools.product(systems, augmentations):
        if system.title in added.models:
            reason = _hindrance(system, added, named)
            if reason:
                left_out.append(f"{system.name} x {added.name}: {reason}")
            else:
                possible.append((system, added))

    def cell(data: Data, system: System, added: Augmentation, fraction: float, seed: int) -> Cell:
        return replace(
            pattern,
            dataset=data.name,
            path=data.path,
            model=system.model,
            variant=system.variant,
            settings=system.settings,
            augmentation=added.name,
            augment=added.methods,
            augment_settings=added.settings,
            fraction=fraction,
            seed=seed,
            search={**system.search, **added.search},
            ensemble=tuple(cell(data, system, named[name], fraction, seed) for name in added.ensemble),
        )

    try:
        cells = [
            cell(data, system, added, fraction, seed)
            for data in datasets
            for system, added in possible
            if system.title in data.models
            for fraction, seeds in data.seeds.items()
            for seed in seeds
        ]
    except ValueError as error:
        raise top.wrong(str(error)) from error
    return cells, left_out


def _hindrance(system: System, added: Augmentation, named: Mapping[str, Augmentation]) -> str:
    """Why the model cannot be trained with the augmentation; empty if it can."""
    for member in added.ensemble:
        if system.title not in named[member].models:
            return f"{member} is not for this model"
        reason = _hindrance(system, named[member], named)
        if reason:
            return reason
    try:
        for name in added.methods:
            check_door(system.model, augmenters.card(name))
    except InputError as error:
        return str(error)
    return ""


def is_asked_for(cell: Cell, only: str) -> bool:
    """Whether the cell's title contains this text, or matches it if it has `*` or `?`."""
    title, wanted = cell.title.lower(), only.lower()
    return fnmatch.fnmatchcase(title, wanted) if set(wanted) & set("*?") else wanted in title
