"""Every setting of every model and augmentation, at both ends and beyond: accepted, or refused in a line."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import pytest

from tailwright.augmentation import augmenters
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import LARGEST, Settings, setting, settings_from

BEYOND = (LARGEST + 1, -LARGEST - 1, -(10**400), math.nan, math.inf, -math.inf, "nan", "1" * 500)
OTHERS = (0, LARGEST, -LARGEST, 1e-300, None, "", "x" * 100_000, [], object())


def parts_of(settings: Any) -> Iterator[type]:
    """The type of settings, and those of all settings within."""
    yield type(settings)
    for field in dataclasses.fields(settings):
        if dataclasses.is_dataclass(getattr(settings, field.name)):
            yield from parts_of(getattr(settings, field.name))


EVERY = {
    part: None
    for registry in (models, augmenters)
    for name in registry.names()
    for part in parts_of(registry.settings(name)())
}


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_every_setting_takes_or_refuses_any_value_in_one_line_that_names_it(kind):
    defaults = kind()
    for field in dataclasses.fields(kind):
        default = getattr(defaults, field.name)
        if dataclasses.is_dataclass(default):
            continue
        is_number = isinstance(default, int | float) and not isinstance(default, bool)
        for value in (*BEYOND, *OTHERS):
            try:
                settings_from(kind, {field.name: value})
            except InputError as refused:  # noqa: PERF203 (that is what is tested)
                line = str(refused)
                assert field.name in line, (value, line)
                assert len(line) < 400, line
                assert "\n" not in line
            else:
                assert not (is_number and value in BEYOND), (field.name, value)


@dataclasses.dataclass(frozen=True)
class _Example(Settings):
    trees: int = setting(3, "how many", least=1, most=1000)
    rate: float = setting(0.1, "how fast", above=0)
    shift: float = setting(0.0, "how far")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"trees": 10**9}, "trees must be in [1, 1000], got 1000000000"),
        ({"rate": 1e10}, "rate must be > 0 and at most 2,147,483,647 in size, got 10000000000.0"),
        ({"rate": 5e-324}, "rate must be > 0 and at least 2.23e-308 in size, got 5e-324"),
        ({"rate": "inf"}, "rate must be > 0, got inf"),
        (
            {"shift": -(10**10)},
            "shift must be a finite number and at most 2,147,483,647 in size, got -10000000000.0",
        ),
        ({"shift": "nan"}, "shift must be a finite number, got nan"),
    ],
)
def test_the_line_says_setting_bounds_and_value(values, line):
    with pytest.raises(InputError) as refused:
        settings_from(_Example, values)
    assert str(refused.value) == line


@pytest.mark.parametrize(
    ("registry", "name", "given"),
    [
        (models, "linear", {"beam": 10**9}),
        (models, "linear", {"trees": 10**9}),
        (models, "linear+twin", {"hidden": 10**9}),
        (models, "linear+twin", {"candidates": 10**9}),
        (models, "twin", {"scale": 1e9}),
        (models, "twin", {"pieces": 10**9}),
        (models, "inceptionxml", {"max_length": 10**9}),
        (models, "inceptionxml-lf", {"max_length": 10**9}),
        (models, "twin", {"piece_weight": 1e9}),
        (models, "twin", {"rate": 1e9}),
        (augmenters, "eda", {"outputs": 10**9}),
        (augmenters, "eda", {"weight": 1e9}),
        (augmenters, "gandalf", {"steps": 10**9}),
    ],
)
def test_sizes_that_no_machine_can_hold_are_refused_before_any_work(registry, name, given):
    (setting_name,) = given
    with pytest.raises(InputError, match=rf"^{setting_name} must be .*, got 1000000000"):
        settings_from(registry.settings(name), given)
