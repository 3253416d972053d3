"""Which cells a claim speaks of: those of each side, and pairs that differ in nothing but the side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tailwright.augmentation import augmenters
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.study.plan.cells import Cell
from tailwright.study.run.outcomes import Outcome
from tools.claims.ledger import Claim, Side


@dataclass(frozen=True, eq=False)
class Group:
    """The outcomes of one side on one dataset, fraction and system, by seed."""

    outcomes: dict[int, Outcome]

    @property
    def cell(self) -> Cell:
        return next(iter(self.outcomes.values())).cell

    def seeds(self, common: Sequence[int]) -> list[Outcome]:
        return [self.outcomes[seed] for seed in common]


def common_seeds(*groups: Group) -> list[int]:
    """The seeds that all of them have."""
    return sorted(set.intersection(*(set(group.outcomes) for group in groups)))


def pairs_of(claim: Claim, outcomes: Sequence[Outcome]) -> Iterator[tuple[Group, Group, Side]]:
    """Groups that differ in nothing but the side, at the fractions that the claim asks for."""
    after = _groups(claim.after, outcomes)
    for side in claim.before:
        before = _groups(side, outcomes)
        for place, group in after.items():
            for other, base in before.items():
                same = place[:3] == other[:3] if about_models(claim, side) else place == other
                if same and place[1] in claim.fractions and common_seeds(base, group):
                    yield base, group, side


def about_models(claim: Claim, side: Side) -> bool:
    """Whether the sides may be of two models."""
    return bool(side.model or claim.after.model)


def _groups(side: Side, outcomes: Sequence[Outcome]) -> dict[tuple[str, float, int, str, str], Group]:
    """Outcomes of a side by (path, fraction, training rows, system, its settings), in a fixed order."""
    by_place: dict[tuple[str, float, int, str, str], dict[int, Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.cell.title, outcome.key)):
        cell = outcome.cell
        if matches(cell, side):
            system = (cell.system, repr(sorted(cell.settings.items())))
            place = (cell.path, cell.fraction, outcome.n_train, *system)
            by_place.setdefault(place, {}).setdefault(cell.seed, outcome)
    return {place: Group(dict(sorted(seeds.items()))) for place, seeds in by_place.items()}


def matches(cell: Cell, side: Side) -> bool:
    """Whether a cell is what a side speaks of: its methods, with all settings that a search leaves alone.

    Of a side that is a model and no method, the settings that it names.
    """
    if len(cell.ensemble) != len(side.ensemble):
        return False
    if side.ensemble:
        return all(matches(*pair) for pair in zip(cell.ensemble, side.ensemble, strict=True))
    if cell.augment != side.methods or (side.model and cell.model != side.model):
        return False
    if side.model and not side.methods:
        kind = models.settings(cell.model)
        return settings_from(kind, {**cell.settings, **side.settings}) == settings_from(kind, cell.settings)
    for method in side.methods:
        kind = augmenters.get(method).Settings
        searched = {name.removeprefix(f"{method}.") for name in cell.search if name.startswith(f"{method}.")}
        said = {name: value for name, value in side.settings.items() if name not in searched}
        had = {n: v for n, v in cell.augment_settings.get(method, {}).items() if n not in searched}
        if settings_from(kind, said) != settings_from(kind, had):
            return False
    return True
