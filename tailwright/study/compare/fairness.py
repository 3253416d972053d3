"""What makes a comparison unfair: sides that differ in more than what is compared.

Two augmentations that add rows must add about as many, or it is numbers that are compared. Two models must
read as much of a text, learn for as many epochs, start from weights that know as much, and have stopped
learning, or it is budgets that are compared.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from tailwright.augmentation import augmenters
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.study.plan.cells import Cell, chosen
from tailwright.study.run.outcomes import Outcome

ROWS_APART = 0.1  # share of the larger number of rows added that two methods may differ by
_EPOCHS = ("epochs", "head_epochs", "free_epochs")  # of phases that follow each other
_RANDOM = "random"


@dataclass(frozen=True)
class Conditions:
    """What a model is trained under; None or empty: it has no such thing, as a bag of words has no tokens."""

    tokens: int | None = None
    epochs: int | None = None  # of all phases together, at most
    encoder: str = ""  # a pretrained transformer
    frozen: bool = False
    vectors: str = ""  # what word vectors start from

    @property
    def reader(self) -> str:
        """What reads the texts, in words."""
        if self.encoder:
            return f"{self.encoder}, frozen" if self.frozen else self.encoder
        return f"{self.vectors} word vectors" if self.vectors else ""

    @property
    def pretrained(self) -> bool:
        return bool(self.encoder) or self.vectors not in {"", _RANDOM}


def conditions_of(cell: Cell) -> Conditions:
    """The conditions of a cell, out of the settings of its model.

    >>> conditions_of(Cell("", "", "roberta", settings={"max_tokens": 96, "epochs": 5, "frozen": True}))
    Conditions(tokens=96, epochs=5, encoder='minilm', frozen=True, vectors='')
    """
    settings = list(_plain(settings_from(models.settings(cell.model), cell.settings)))
    named = dict(settings)
    epochs = [value for name, value in settings if name in _EPOCHS]
    return Conditions(
        tokens=named.get("max_tokens", named.get("max_length")),
        epochs=sum(epochs) if epochs else None,
        encoder=named.get("encoder", ""),
        frozen=named.get("frozen", False),
        vectors=named.get("vectors", ""),
    )


def models_apart(before: Sequence[Outcome], after: Sequence[Outcome]) -> str:
    """Why two models cannot be compared by these outcomes, one of each seed; empty if they can."""
    was, now = (conditions_of(chosen(side[0].cell, side[0].chosen)) for side in (before, after))
    apart = [
        f"{name} {mine} against {theirs}"
        for name, mine, theirs in (("tokens", now.tokens, was.tokens), ("epochs", now.epochs, was.epochs))
        if None not in {mine, theirs} and mine != theirs
    ]
    one_kind = bool(was.encoder) == bool(now.encoder)
    alike = was.reader == now.reader if one_kind else was.pretrained == now.pretrained
    if was.reader and now.reader and not alike:
        apart.append(f"{now.reader} against {was.reader}")
    apart += [
        f"{side[0].cell.system} was still learning"
        for side in (after, before)
        if any(outcome.stopped_learning is False for outcome in side)
    ]
    return "; ".join(apart)


def rows_apart(before: Sequence[Outcome], after: Sequence[Outcome]) -> str:
    """Why two augmentations that add rows cannot be compared; empty if they can.

    Where one side has all methods of the other, the rows that it adds or drops are what is compared: XDA adds
    more without its filter, and any method adds more than none.
    """
    first, other = (side[0].cell.augment for side in (after, before))
    part = {*first} <= {*other} or {*other} <= {*first}
    if part or not (_adds_rows(first) and _adds_rows(other)):
        return ""
    now, was = (statistics.fmean(outcome.n_augmented for outcome in side) for side in (after, before))
    if abs(now - was) <= ROWS_APART * max(now, was):
        return ""
    return f"rows added {now:,.0f} against {was:,.0f}"


def _adds_rows(methods: Sequence[str]) -> bool:
    return any(augmenters.card(name).door == "rows" for name in methods)


def _plain(settings: Any) -> Iterator[tuple[str, Any]]:
    """Every setting that is no group of settings, with its own name."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value):
            yield from _plain(value)
        else:
            yield field.name, value
