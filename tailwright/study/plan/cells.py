"""`Cell`: one training of a study, named by everything that can change its result."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tailwright.errors import InputError, quoted

BASELINE = "none"
_NAMES = ("dataset", "path", "augmentation", "variant")  # what people call a cell, and where its data are


@dataclass(frozen=True)
class Cell:
    """What is trained, on what, and with which seed.

    Of the training rows the share `valid` is held out, then the share `fraction` of the rest is taken; which
    rows these are does not depend on `seed`.
    """

    dataset: str  # its name in the study
    path: str
    model: str
    augmentation: str = BASELINE  # its name in the study, such as "gandalf w/o SA"
    augment: tuple[str, ...] = ()  # the methods behind that name
    augment_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by method
    variant: str = ""  # a name for the model's settings, empty for the defaults
    settings: Mapping[str, Any] = field(default_factory=dict)
    fraction: float = 1.0
    valid: float = 0.1
    seed: int = 0
    # `METHOD.SETTING` or `SETTING` to values; the best of them on validation rows is kept
    search: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    search_metric: str = "P@1"
    # cells whose runs answer together; such a cell trains nothing itself
    ensemble: tuple[Cell, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ValueError(f"fraction must be in (0, 1], got {self.fraction}")
        if not 0 <= self.valid < 1:
            raise ValueError(f"valid must be in [0, 1), got {self.valid}")
        if self.seed < 0:
            raise ValueError(f"seed must be >= 0, got {self.seed}")
        if self.search and not self.valid:
            raise ValueError("search needs validation rows, got valid = 0")

    @property
    def system(self) -> str:
        """Model and settings in one name: `twin`, or `twin (small)` for the variant `small`."""
        return f"{self.model} ({self.variant})" if self.variant else self.model

    @property
    def title(self) -> str:
        """All that tells this cell from the others of its study, for people."""
        names = [self.dataset, self.system, self.augmentation, f"{self.fraction:.4g}", f"seed {self.seed}"]
        return " / ".join(names)

    def key(self, data: str, code: str) -> str:
        """The name of the cell's folder, out of digests of the data and of the code, and all that is asked.

        Names count for nothing: a cell that another study calls otherwise is the same cell.
        """
        asked = self.as_dict()
        for name in _NAMES:
            del asked[name]
        if not self.search:
            del asked["search_metric"]
        del asked["ensemble"]
        if self.ensemble:
            asked["ensemble"] = [member.key(data, code) for member in self.ensemble]
        text = json.dumps({**asked, "data": data, "code": code}, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()

    def asked(self, data: str) -> str:
        """A digest of all that is asked and of the data's digest, whatever code runs it.

        Defaults count for nothing either: it stays the same when cells gain a field.
        """
        plain = Cell("", "", "").as_dict()
        told = {name: value for name, value in self.as_dict().items() if value != plain[name]}
        if not self.search:
            told.pop("search_metric", None)
        if self.ensemble:
            told["ensemble"] = [member.asked(data) for member in self.ensemble]
        left = {name: value for name, value in told.items() if name not in _NAMES}
        text = json.dumps({**left, "data": data}, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; `cell_from` reads them."""
        return asdict(self)


def cell_from(values: Any) -> Cell:
    """The cell that `as_dict` wrote; an InputError for anything else."""
    try:
        known = dict(values)
        known["augment"] = tuple(known.get("augment", ()))
        known["search"] = {name: tuple(tried) for name, tried in dict(known.get("search", {})).items()}
        known["ensemble"] = tuple(cell_from(member) for member in known.get("ensemble", ()))
        return Cell(**known)
    except (TypeError, ValueError) as error:
        raise InputError(f"found {quoted(values)} ({error})", expected="a cell of a study") from error


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
