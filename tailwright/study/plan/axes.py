"""The axes of a plan: datasets with their fractions and seeds, models with settings, augmentations.

Names of models, methods and settings are checked while the plan is read: a typo shows before hours of work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from tailwright.augmentation import augmenter
from tailwright.data.formats.options import SQLITE
from tailwright.errors import InputError, quoted
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.study.plan.cells import BASELINE, Cell
from tailwright.study.plan.toml_table import Table
from tailwright.study.run.exam import DEMO

_VARIABLE = re.compile(r"\$(\w+|\{\w+\})")


@dataclass(frozen=True)
class Data:
    """A dataset, the seeds of each of its fractions, and the titles of the models it is for."""

    name: str
    path: str
    seeds: Mapping[float, Sequence[int]]
    models: tuple[str, ...]


@dataclass(frozen=True)
class System:
    """A model with settings."""

    title: str  # its name in the plan
    model: str
    variant: str  # the plan's name for the settings; empty if the title is the model's name
    settings: Mapping[str, Any]
    search: Mapping[str, tuple[Any, ...]]

    @property
    def name(self) -> str:
        """The system's name in its cells."""
        return Cell("", "", self.model, variant=self.variant).system


@dataclass(frozen=True)
class Augmentation:
    """Methods with settings under one name, and the titles of the models they are for; none: the baseline.

    An ensemble has no methods, but names of other augmentations, whose runs answer together.
    """

    name: str
    models: tuple[str, ...]
    methods: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    search: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    ensemble: tuple[str, ...] = ()


def datasets_in(top: Table) -> list[Data]:
    """The [datasets]: a path, or a table with a path, seeds, fractions and models of its own."""
    datasets = []
    for name, value in top.tables("datasets").items():
        bare = isinstance(value, str)
        table = Table({"path": value}, top.path, "datasets") if bare else top.below("datasets", name)
        table.refuse_other_keys(["path", "seeds", "fractions", "models"])
        # Seeds or fractions that a dataset does not set are the plan's.
        axes = {key: table.values.get(key, top.values.get(key)) for key in ("seeds", "fractions")}
        if isinstance(axes["seeds"], dict) and "fractions" not in table.values:
            axes["fractions"] = None
        if "fractions" in table.values and "seeds" not in table.values and isinstance(axes["seeds"], dict):
            raise table.wrong("fractions without seeds", "seeds too, as the plan's are set by fraction")
        datasets.append(Data(name, _place(table), _seeds(table, **axes), _models(top, table)))
    return datasets


def systems_in(top: Table) -> list[System]:
    """The [models]: a table of settings for each, with `model` where the title is that of a variant."""
    systems = []
    for title in top.tables("models"):
        table = top.below("models", title)
        model = table.text("model", title)
        settings = {key: value for key, value in table.values.items() if key not in {"model", "search"}}
        search = _search(table)
        with _located(table):
            kind = models.settings(model)
            settings_from(kind, settings)
            for name, values in search.items():
                for value in values:
                    settings_from(kind, {**settings, name: value})
        variant = "" if title == model else title.removeprefix(model).strip(" -_") or title
        systems.append(System(title, model, variant, settings, search))
    return systems


def augmentations_in(top: Table) -> list[Augmentation]:
    """The [augmentations]: `method` (one, or several), settings, what is searched, `models`."""
    if "augmentations" not in top.values:
        return [Augmentation(BASELINE, tuple(top.tables("models")))]
    named = top.tables("augmentations")
    return [_augmentation(top, top.below("augmentations", name), name) for name in named]


def _models(top: Table, table: Table) -> tuple[str, ...]:
    """Titles of the models that a table of the plan is for: all of them, if it names none."""
    known = list(top.tables("models"))
    wanted = tuple(table.names("models", known))
    for title in wanted:
        table.refuse_unknown("model", title, known)
    return wanted


def _augmentation(top: Table, table: Table, name: str) -> Augmentation:
    methods = tuple(table.names("method", [name]))
    wanted = _models(top, table)
    if name == BASELINE:
        table.refuse_other_keys(["models"])
        return Augmentation(BASELINE, wanted)
    if "ensemble" in table.values:
        table.refuse_other_keys(["ensemble", "models"])
        return Augmentation(name, wanted, ensemble=_members(top, table))
    with _located(table):
        for method in methods:
            augmenter(method)
    reserved = ("method", "search", "models")
    given = {key: value for key, value in table.values.items() if key not in reserved}
    settings: dict[str, dict[str, Any]]
    if len(methods) == 1:
        settings = {methods[0]: given} if given else {}
    else:
        # Of several methods each has a table of its own settings.
        table.refuse_other_keys([*methods, *reserved])
        settings = {method: dict(table.below(method).values) for method in given}
    search = {_owned(table, setting, methods): values for setting, values in _search(table).items()}
    with _located(table):
        for method in methods:
            augmenter(method, settings.get(method))
        for setting, values in search.items():
            owner, _, key = setting.partition(".")
            for value in values:
                augmenter(owner, {**settings.get(owner, {}), key: value})
    return Augmentation(name, wanted, methods, settings, search)


def _members(top: Table, table: Table) -> tuple[str, ...]:
    """The augmentations whose runs answer together: two or more, none of them an ensemble itself."""
    others = top.tables("augmentations")
    known = [name for name, given in others.items() if "ensemble" not in given]
    members = tuple(table.names("ensemble", []))
    for member in members:
        table.refuse_unknown("augmentation", member, known)
    if len(set(members)) < max(len(members), 2):
        raise table.wrong(f"ensemble: found {quoted(list(members))}", "two augmentations or more, each once")
    return members


def _owned(table: Table, setting: str, methods: Sequence[str]) -> str:
    """`METHOD.SETTING`; the method is filled in where there is only one."""
    owner, dot, _ = setting.partition(".")
    if dot and owner in methods:
        return setting
    if len(methods) == 1:
        return f"{methods[0]}.{setting}"
    raise table.wrong(f"search: found {quoted(setting)}", f"{methods[0]}.NAME, of one of the methods")


def _search(table: Table) -> dict[str, tuple[Any, ...]]:
    """Settings to try, each with a list of values."""
    given = table.values.get("search", {})
    if not isinstance(given, dict):
        raise table.wrong(f"search: found {quoted(given)}", "{ NAME = [VALUE, ...] }")
    for name, values in given.items():
        if not isinstance(values, list) or not values:
            raise table.wrong(f"search: found {name} = {quoted(values)}", "a list of values to try")
    return {name: tuple(values) for name, values in given.items()}


@contextmanager
def _located(table: Table) -> Iterator[None]:
    """Adds the place in the plan to an InputError inside."""
    try:
        yield
    except InputError as error:
        raise table.wrong(error.found, error.expected) from error


def _place(table: Table) -> str:
    """Where the corpus is: variables filled in, relative to the plan's own folder."""

    def value_of(variable: re.Match[str]) -> str:
        name = variable[1].strip("{}")
        if name not in os.environ:
            raise table.wrong(f"${name} is not set", f"that environment variable, for {given!r}")
        return os.environ[name]

    given = table.text("path")
    filled = _VARIABLE.sub(value_of, given)
    if filled.partition(":")[0] == DEMO:
        return filled
    kind = SQLITE if filled.startswith(SQLITE) else ""
    return kind + str((table.path.parent / Path(filled.removeprefix(kind)).expanduser()).resolve())


def _seeds(table: Table, seeds: Any, fractions: Any) -> dict[float, list[int]]:
    """The seeds of each fraction; a table of seeds gives both."""
    if isinstance(seeds, dict):
        if fractions is not None:
            raise table.wrong("fractions beside seeds by fraction", "one of the two")
        return {_fraction(table, share): _listed(table, each) for share, each in seeds.items()}
    shares = [1.0] if fractions is None else fractions
    if not isinstance(shares, list) or not shares:
        raise table.wrong(f"fractions: found {quoted(shares)}", "a list such as [0.05, 1.0]")
    listed = _listed(table, [0] if seeds is None else seeds)
    return {_fraction(table, share): listed for share in shares}


def _listed(table: Table, seeds: Any) -> list[int]:
    whole = isinstance(seeds, list) and all(type(seed) is int and seed >= 0 for seed in seeds)
    if not whole or not seeds or len(set(seeds)) < len(seeds):
        raise table.wrong(f"seeds: found {quoted(seeds)}", "a list of whole numbers, each once")
    return list(seeds)


def _fraction(table: Table, share: Any) -> float:
    """0.05, "0.05" and "5 %" are the same."""
    text = str(share).replace(" ", "")
    try:
        exact = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if isinstance(share, bool) or not 0 < exact <= 1:
        raise table.wrong(f"fractions: found {quoted(share)}", 'a share of the rows such as 0.05 or "5 %"')
    return float(exact)
