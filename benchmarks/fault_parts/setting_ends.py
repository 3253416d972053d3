"""Every setting of every model and augmentation at both ends and beyond: refused in a line, or it works.

A value that is accepted is worked with, in a process of its own. Ends such as a million epochs take longer
than a trial may: what still works after `LONGEST` seconds counts as working.
"""

from __future__ import annotations

import dataclasses
import math
import resource
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fault_parts import Outcome, Trial
from fault_parts.children import Command, warm
from fault_parts.places import names_at, set_words, small_settings
from tailwright.augmentation import augmenters
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import LARGEST, SMALLEST, Bounds, settings_from
from tailwright.streams import stream

LONGEST = 3.0  # seconds that an accepted value is worked with
MEMORY = 6 << 30  # bytes of address space: a size that needs more is refused, or says memory
ANY = (math.nan, math.inf, -math.inf, LARGEST + 1, -LARGEST - 1, 10**400, "nan", "", "x" * 1000, None, [], {})
MIXING = ("twin", "xml-cnn", "la-roberta")  # the first that has the door trains with a mix
DENORMAL = math.nextafter(0.0, 1.0)
TEXTS = ("", "x", "none", "/", "true", "false")
_DIVERGES = "a lower learning rate may help"  # what a training ends with when its loss is no number


class Case(NamedTuple):
    """A method, one of its settings by its whole name, and a value; whether it is worked with if accepted."""

    method: str
    name: str
    value: Any
    is_end: bool


class SettingEnds:
    """All cases once, in an order drawn by the seed."""

    name, share, patience = "settings", 0.38, 600.0

    def count(self, place: Path) -> int | None:
        return len(_cases())

    def trial(self, trial: Trial) -> Outcome:
        case = _cases()[_order(trial.seed)[trial.number]]
        done = f"{case.method}: {case.name}={str(case.value)[:40]}"
        registry = models if case.method in models.names() else augmenters
        try:
            settings_from(registry.settings(case.method), {case.name: case.value})
        except InputError as refused:
            line, last = str(refused), case.name.rpartition(".")[2]
            said = last in line and "\n" not in line and len(line) < 400
            return Outcome(
                done, "refused", "" if said else f"the line does not name the setting: {line[:300]}"
            )
        except Exception as error:
            return Outcome(done, "crashed", f"{type(error).__name__}: {error}")
        out = trial.scratch / "out"
        words = _words(case.method, {case.name: case.value}, trial.place, out) if case.is_end else None
        if words is None:
            return Outcome(done, "accepted")
        _warm(case.method, trial.place)
        ended = Command(words, trial.scratch / "said", _little_memory).wait_for(LONGEST)
        if ended is None:
            return Outcome(done, "still at work")
        if _DIVERGES in ended.said:
            return Outcome(done, "diverges, and says so", ended.problem(1))
        return Outcome(done, "works" if not ended.code else "refused at work", ended.problem(0, 2))


@cache
def _warm(method: str, place: Path) -> None:
    """Work with the method as it is, once, so that trials with it begin with what they try.

    For one that adds rows a quick one does: those that write texts would take minutes.
    """
    is_slow = method not in models.names() and augmenters.card(method).door == "rows"
    with tempfile.TemporaryDirectory(dir=place) as folder:
        warm(_words("eda" if is_slow else method, {}, place, Path(folder) / "out") or [])


def _words(method: str, values: Mapping[str, Any], place: Path, out: Path) -> list[str] | None:
    """The command that works with the values of settings; None where there is no model for it."""
    data, end = str(place / "data"), ("-q", "--out", str(out))
    names = names_at(place)
    if method in models.names():
        if method not in names:
            return None
        settings = {**small_settings(method, place), **values}
        return ["train", data, "--model", method, "--augment", "none", *set_words(settings), *end]
    card = augmenters.card(method)
    words = set_words({f"{method}.{name}": value for name, value in values.items()})
    if card.door == "rows":
        rows = str(place / "made") if method in {"filter", "mask"} else data
        return ["augment", rows, "--augment", method, *words, *end]
    model = next((name for name in MIXING if name in names and models.card(name).takes(card)), None)
    if model is None:
        return None
    small = set_words(small_settings(model, place))
    return ["train", data, "--model", model, "--augment", method, *small, *words, *end]


def _little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@cache
def _cases() -> list[Case]:
    return [
        Case(method, name, value, is_end)
        for registry in (models, augmenters)
        for method in registry.names()
        for name, field in _fields(registry.settings(method)())
        for is_end, values in ((True, _ends(field)), (False, ANY))
        for value in values
    ]


@cache
def _order(seed: int) -> list[int]:
    return [int(place) for place in stream(seed, "faults/settings").permutation(len(_cases()))]


def _fields(settings: Any, prefix: str = "") -> Iterator[tuple[str, dataclasses.Field[Any]]]:
    """Every setting by its whole name."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            yield from _fields(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field


def _ends(field: dataclasses.Field[Any]) -> tuple[Any, ...]:
    """The outermost values that are allowed and those right behind them; words for what is no number."""
    if not isinstance(field.default, int | float | tuple | None) or isinstance(field.default, bool):
        return TEXTS
    bounds: Bounds = field.metadata.get("bounds", Bounds())
    low = -LARGEST if bounds.least is None else bounds.least
    high = LARGEST if bounds.most is None else bounds.most
    ends = [low, low - 1, high, high + 1]
    if bounds.above is not None:
        ends[:2] = bounds.above, max(math.nextafter(bounds.above, math.inf), SMALLEST), DENORMAL
    if bounds.below is not None:
        ends[-2:] = bounds.below, math.nextafter(bounds.below, -math.inf)
    return tuple(ends)
