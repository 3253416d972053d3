"""What a training is asked for: a TOML file, then `--set` and the other options on top of it.

model = "linear"
augment = ["gandalf"]
seed = 0

[settings]          # of the model
trees = 3
[settings.forest]   # of a group of its settings
depth = 2

[gandalf]           # of an augmentation, of a part of a model such as linear+twin, or of a group
soft = true
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailwright.augmentation import augmenters
from tailwright.errors import InputError, quoted
from tailwright.models import models
from tailwright.registry import unknown
from tailwright.settings import settings_table
from tailwright.study.plan.toml_table import read_table

_PLAIN = {"model": str, "augment": list, "seed": int}


@dataclass
class Asked:
    """Everything a training is asked for; `settings` are the model's, `augment_settings` by augmentation."""

    model: str = "auto"
    augment: list[str] = field(default_factory=lambda: ["auto"])
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    augment_settings: dict[str, dict[str, Any]] = field(default_factory=dict)

    def set(self, assignment: str) -> None:
        """Take in `name=value` of the model, or `owner.name=value` of an augmentation, a part or a group."""
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set {quoted(assignment)}", expected="name=value or owner.name=value")
        owner, dot, setting = name.strip().partition(".")
        if dot:
            self.augment_settings.setdefault(owner, {})[setting] = value.strip()
        else:
            self.settings[owner] = value.strip()

    def refiners(self, filtered: bool, masked: list[str] | None) -> list[str]:
        """The methods that `--filter` and each `--mask [NAME=VALUE]` stand for; takes their settings in."""
        for assignment in masked or []:
            if assignment:
                self.set(f"mask.{assignment}")
        return [*(["filter"] if filtered else []), *([] if masked is None else ["mask"])]

    def sort_out(self, model: str) -> None:
        """Give the model what stands under its name, a part's (`linear+twin`), or a group's of its settings.

        What is left must stand under the name of an augmentation.
        """
        parts, added = model.split("+"), augmenters.names()
        names = [one.name.split(".") for one in settings_table(models.settings(model))]
        groups = list(dict.fromkeys(group for path in names for group in path[:-1]))
        for owner in [name for name in self.augment_settings if name not in added]:
            values, field = self.augment_settings.pop(owner), owner.replace("-", "_")
            if owner == model:
                self.settings.update(values)
            elif owner in parts:
                self.settings[field] = {**self.settings.get(field, {}), **values}
            elif field in groups:
                self.settings.update({f"{field}.{name}": value for name, value in values.items()})
            else:
                raise InputError(unknown("owner of settings", owner, [*added, *parts, *groups]))


def read_config(path: Path) -> Asked:
    """The contents of a TOML file; unknown keys and wrong types are an InputError that names them."""
    content = read_table(path).values
    asked = Asked()
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for key, value in content.items():
        if key in tables:
            continue
        if key not in _PLAIN:
            raise InputError(unknown("key", key, [*_PLAIN, "settings"]), path=path)
        if type(value) is not _PLAIN[key]:
            expected = f"{key} to be a {_PLAIN[key].__name__}"
            raise InputError(f"found {quoted(value)}", expected=expected, path=path)
        setattr(asked, key, value)
    asked.settings = tables.pop("settings", {})
    asked.augment_settings = tables
    return asked
