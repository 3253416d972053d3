"""What a training is asked for: a TOML file, then `--set` and the other options on top of it.

model = "linear"
augment = ["gandalf"]
seed = 0

[settings]          # of the model
trees = 3

[gandalf]           # of an augmentation, or of a part of a model such as linear+twin
soft = true
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailwright.errors import InputError, quoted
from tailwright.registry import unknown

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
        """Take in `name=value` of the model, or `owner.name=value` of an augmentation or of a part."""
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set {quoted(assignment)}", expected="name=value or owner.name=value")
        owner, dot, setting = name.strip().partition(".")
        if dot:
            self.augment_settings.setdefault(owner, {})[setting] = value.strip()
        else:
            self.settings[owner] = value.strip()

    def sort_out(self, model: str) -> None:
        """Give what stands under the name of `model`, or of a part of it (`linear+twin`), to the model.

        What is left must stand under the name of an augmentation.
        """
        from tailwright.augmentation import augmenters

        parts = model.split("+")
        for part in parts:
            given = self.augment_settings.pop(part, {})
            if len(parts) == 1:
                self.settings.update(given)
            elif given:
                field = part.replace("-", "_")
                self.settings[field] = {**self.settings.get(field, {}), **given}
        for owner in self.augment_settings:
            if owner not in augmenters.names():
                raise InputError(unknown("owner of settings", owner, [*augmenters.names(), *parts]))


def read_config(path: Path) -> Asked:
    """The contents of a TOML file; unknown keys and wrong types are an InputError that names them."""
    content = _toml(path)
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


def _toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"found no TOML ({error})", path=path) from error
