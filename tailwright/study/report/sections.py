"""What sections of a report are made of: HTML, plots with choices, and outcomes by place."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from markupsafe import Markup

from tailwright.study.page.html import render
from tailwright.study.plan.cells import BASELINE
from tailwright.study.report import plots
from tailwright.study.run.outcomes import Outcome

# Dataset, share of the training rows, system, augmentation; or the first of these.
Place: TypeAlias = tuple[str, ...]


class View(NamedTuple):
    """One plot of several: the value of each choice that leads to it, its summary, and the plot."""

    at: tuple[str, ...]
    words: str
    figure: plots.Figure


@dataclass(frozen=True)
class Views:
    """Plots of which one is shown at a time; `dimensions` name the choices, the first view is seen first."""

    name: str
    dimensions: tuple[str, ...]
    views: tuple[View, ...]

    def __post_init__(self) -> None:
        for view in self.views:
            wanted = len(self.dimensions)
            if len(view.at) != wanted:
                raise ValueError(f"a view of {self.name} must have {wanted} choices, got {view.at}")

    def as_dict(self) -> dict[str, Any]:
        """For the page's script."""
        return {"dimensions": self.dimensions, "views": [view._asdict() for view in self.views]}


@dataclass(frozen=True)
class Section:
    """A heading, its HTML, and the plots that the HTML has boxes for."""

    anchor: str
    title: str
    html: Markup
    views: tuple[Views, ...] = ()
    scripts: Mapping[str, Any] = field(default_factory=dict)  # id to plain values for the page's script


def section_of_views(
    anchor: str, title: str, about: str, views: Sequence[View], *dimensions: str
) -> Section | None:
    """One plot with choices, under a sentence that says what is drawn; None if there is no view."""
    if not views:
        return None
    box = Views(anchor, dimensions, tuple(views))
    return Section(anchor, title, render(__package__, "views.html.j2", about=about, box=box), (box,))


def in_words(augmentation: str) -> str:
    """What an augmentation is called in a sentence."""
    return "no augmentation" if augmentation == BASELINE else augmentation


def colours_of(augmentations: Iterable[str]) -> dict[str, str]:
    """A colour for each augmentation, the same all over a report; grey is the baseline's."""
    grey, *others = plots.COLOURS
    return {BASELINE: grey, **dict(zip(sorted({*augmentations} - {BASELINE}), itertools.cycle(others)))}


def percent(fraction: float) -> str:
    """A share of the training rows as the report names it.

    >>> percent(0.05), percent(1.0), percent(0.125)
    ('5 %', '100 %', '12.5 %')
    """
    return f"{100 * fraction:g} %"


def by_place(outcomes: Sequence[Outcome]) -> dict[Place, list[Outcome]]:
    """The outcomes at each place, by seed: the cells that differ in nothing but their seed.

    Datasets by name, the largest share first, systems by name, the baseline before what is added to it.
    """
    groups: dict[tuple[str, float, str, str], list[Outcome]] = {}
    for outcome in outcomes:
        cell = outcome.cell
        groups.setdefault((cell.dataset, cell.fraction, cell.system, cell.augmentation), []).append(outcome)
    order = sorted(groups, key=lambda at: (at[0], -at[1], at[2], at[3] != BASELINE, at[3]))
    return {
        (at[0], percent(at[1]), *at[2:]): sorted(groups[at], key=lambda outcome: outcome.cell.seed)
        for at in order
    }


def grouped(places: Mapping[Place, list[Outcome]], first: int) -> dict[Place, dict[Place, list[Outcome]]]:
    """The places that share their `first` names, each under the names that are left."""
    groups: dict[Place, dict[Place, list[Outcome]]] = {}
    for at, outcomes in places.items():
        groups.setdefault(at[:first], {})[at[first:]] = outcomes
    return groups
