"""Which labels a request allows (`--only`, `--not`; `label_lists` reads them), and a ranking among these.

A model ranks all labels. To rank some of them it is asked for more and more of its best labels, until enough
of these are allowed ones or it names no more, so the outcome is that of its whole ranking without the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from tailwright.data.corpus import LabelSpace
from tailwright.errors import InputError
from tailwright.evaluation.ranking import PADDING, TopK
from tailwright.labels.lookup import LabelLookup

Labels: TypeAlias = str | int | Iterable[str | int]
Ask: TypeAlias = Callable[[np.ndarray, int], TopK]

DEEPER = 8  # times as many labels are asked for, in the first place and in each further one
PAIRS_AT_ONCE = 1 << 22  # of text and label that a model ranks; more texts wait


def allowed_labels(labels: LabelSpace, only: Labels | None, without: Labels | None) -> np.ndarray | None:
    """(labels,) bool: `only` those, `without` those; None if all are allowed.

    Both have ids or names. A label that there is not, and a choice that leaves none, is an InputError.
    """
    if only is None and without is None:
        return None
    lookup = LabelLookup(labels)

    def columns(chosen: Labels) -> list[int]:
        asked = [chosen] if isinstance(chosen, str | int) else chosen
        return [lookup.column_of(str(label)) for label in asked]

    return allowed_columns(
        len(labels), None if only is None else columns(only), [] if without is None else columns(without)
    )


def allowed_columns(labels: int, only: Sequence[int] | None, without: Sequence[int]) -> np.ndarray:
    """(labels,) bool: the same for labels by their columns."""
    allowed = np.full(labels, only is None)
    allowed[list(only or [])] = True
    allowed[list(without)] = False
    if not allowed.any():
        raise InputError("a choice of labels that leaves none", expected="at least one label")
    return allowed


def first_depth(k: int, allowed: np.ndarray) -> int:
    """How many labels a model is asked for in the first place, where k of the `allowed` ones are wanted."""
    # Labels that are left out and k are always enough, and if these are few there is no need to try fewer.
    labels = len(allowed)
    return min(labels, k + labels - int(np.count_nonzero(allowed)), DEEPER * k)


def top_among(ask: Ask, rows: int, k: int, allowed: np.ndarray, reach: Callable[[], Ask | None]) -> TopK:
    """The k best of the `allowed` labels of each of so many texts; scores stay what they are.

    `ask(texts, depth)` gives the `depth` best labels of texts, which it gets by their numbers. Texts of which
    too few allowed labels are named in the end are put to what `reach()` gives, if it gives any.
    """
    labels, wanted = len(allowed), min(k, int(np.count_nonzero(allowed)))
    ids = np.full((rows, k), PADDING, dtype=np.int32)
    scores = np.full((rows, k), -math.inf, dtype=np.float32)

    def filled(ask: Ask, waiting: np.ndarray, depth: int) -> np.ndarray:
        """Fill the rows of texts; gives those that lack labels, and of which more can be named."""
        lacking = [waiting[:0]]
        at_once = max(1, PAIRS_AT_ONCE // depth)
        for start in range(0, len(waiting), at_once):
            texts = waiting[start : start + at_once]
            top = ask(texts, depth)
            kept = (top.ids >= 0) & allowed[top.ids]  # (texts, depth)
            order = np.argsort(~kept, axis=1, kind="stable")[:, :k]
            found, width = np.take_along_axis(kept, order, axis=1), order.shape[1]
            ids[texts, :width] = np.where(found, np.take_along_axis(top.ids, order, axis=1), PADDING)
            scores[texts, :width] = np.where(found, np.take_along_axis(top.scores, order, axis=1), -math.inf)
            lacking.append(texts[(top.ids[:, -1] >= 0) & (kept.sum(axis=1) < wanted)])
        return np.concatenate(lacking)

    depth, waiting = first_depth(k, allowed), np.arange(rows)
    while len(waiting):
        waiting = filled(ask, waiting, depth)
        if depth == labels:
            break
        depth = min(labels, DEEPER * depth)
    short = np.flatnonzero((ids >= 0).sum(axis=1) < wanted)
    further = reach() if len(short) else None
    if further is not None:
        filled(further, short, wanted)
    return TopK(ids, scores)
