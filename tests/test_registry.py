"""Methods are found by name, lazily, with near misses; each file registers its own name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tailwright.augment import DOORS, AugmenterCard, augmenters
from tailwright.errors import InputError
from tailwright.models import ModelCard, models
from tailwright.registry import Registry, unknown


@pytest.mark.parametrize("registry", [models, augmenters], ids=lambda r: r.kind)
def test_every_file_registers_the_method_it_is_named_after(registry):
    for name in registry.names():
        method = registry.get(name)
        assert method.card.name == name
        assert method.card.summary


def test_a_near_miss_is_suggested():
    with pytest.raises(InputError, match="unknown model 'popularty'; did you mean 'popularity'\\?"):
        models.get("popularty")
    assert unknown("model", "astek", ["astec", "twin"]) == "unknown model 'astek'; did you mean 'astec'?"


def test_a_far_miss_lists_what_there_is():
    with pytest.raises(InputError, match="there are: label-matcher, linear, popularity"):
        models.get("qqqq")
    assert unknown("augmenter", "x", []) == "unknown augmenter 'x'; there are none"


def test_names_are_known_without_importing_the_methods():
    code = (
        "import sys; from tailwright.models import models; assert 'popularity' in models.names(); "
        "print([m for m in sys.modules if m.startswith('tailwright.models.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_two_methods_of_one_name_are_refused():
    registry: Registry = Registry("model", "tailwright.models")
    first = type("First", (), {"card": ModelCard("same", "x", ("texts",)), "__module__": "a"})
    second = type("Second", (), {"card": ModelCard("same", "x", ("texts",)), "__module__": "b"})
    registry.register(first)
    with pytest.raises(ValueError, match="'same' is registered twice"):
        registry.register(second)


def test_cards_name_the_bad_field_and_value():
    with pytest.raises(ValueError, match=r"door must be one of .*, got 'window'"):
        AugmenterCard("x", "y", "window", keeps_targets=True)
    with pytest.raises(ValueError, match=r"reads must be among .*, got \['pixels'\]"):
        ModelCard("x", "y", ("pixels",))
    assert DOORS == ("rows", "batch", "hidden")
