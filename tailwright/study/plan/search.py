"""Settings that are searched: every combination of the values to try, and the cell that has one of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tailwright.study.plan.cells import Cell


def choices(cell: Cell) -> Iterator[dict[str, Any]]:
    """Each combination of the values that the cell searches, the first of each setting first."""
    for values in itertools.product(*cell.search.values()):
        yield dict(zip(cell.search, values, strict=True))


def chosen(cell: Cell, choice: Mapping[str, Any]) -> Cell:
    """The cell with `choice` set and nothing left to search.

    `METHOD.SETTING` is of an augmentation of the cell; anything else is the model's, or that of a part of it.
    """
    settings = dict(cell.settings)
    of_each = {name: dict(values) for name, values in cell.augment_settings.items()}
    for name, value in choice.items():
        owner, dot, setting = name.partition(".")
        if dot and owner in cell.augment:
            of_each.setdefault(owner, {})[setting] = value
        else:
            settings[name] = value
    return replace(cell, settings=settings, augment_settings=of_each, search={})


def choice_name(choice: Mapping[str, Any]) -> str:
    """A choice in words: `gandalf.threshold=0.2, trees=1`."""
    return ", ".join(f"{name}={value}" for name, value in choice.items())
