"""Methods are found by name, lazily, with near misses; each file registers its own name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tailwright.augmentation import DOORS, AugmenterCard, augmenters
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
    with pytest.raises(
        InputError, match=r"there are: .*linear, linear\+twin, linear\+twin\+label-matcher, popularity, "
    ):
        models.get("qqqq")
    assert unknown("augmenter", "x", []) == "unknown augmenter 'x'; there are none"


def test_names_are_known_without_importing_the_methods():
    code = (
        "import sys; from tailwright.models import models; assert 'popularity' in models.names(); "
        "print([m for m in sys.modules if m.startswith('tailwright.models.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_card_and_settings_are_had_without_importing_the_model(tmp_path, monkeypatch):
    folder = tmp_path / "toy_room" / "two_words"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").write_text("CARD = 'card'\n\n\nclass TwoWordsSettings:\n    pass\n")
    (folder / "model.py").write_text("raise ImportError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    toys = Registry("toy", "toy_room")
    assert toys.names() == ["two-words"]
    assert toys.card("two-words") == "card"
    assert toys.settings("two-words").__name__ == "TwoWordsSettings"
    with pytest.raises(ImportError, match="imported"):
        toys.get("two-words")
    with pytest.raises(InputError, match="unknown toy 'two-word'; did you mean 'two-words'"):
        toys.card("two-word")


@pytest.mark.parametrize("registry", [models, augmenters], ids=lambda r: r.kind)
def test_a_card_and_settings_are_those_of_the_class(registry):
    for name in registry.names():
        assert registry.card(name) == registry.get(name).card
        assert registry.settings(name) == registry.get(name).Settings


def test_listings_do_without_torch():
    code = (
        "import sys; from tailwright.cli import run; "
        "codes = [run([*words.split(), '--json']) for words in sys.argv[1:]]; "
        "print(codes, 'torch' in sys.modules)"
    )
    listings = ["augmenters", "models", "models astec", "models linear+twin"]
    done = subprocess.run([sys.executable, "-c", code, *listings], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0] False"


def test_usual_fusions_are_listed_and_others_are_found_by_name():
    assert "linear+twin" in models.names()
    assert "popularity+linear" not in models.names()
    assert models.get("popularity+linear").card.name == "popularity+linear"
    assert models.get("popularity+linear") is models.get("popularity+linear")
    # Order decides the order of the parts.
    assert list(models.get("linear+label-matcher").names) == ["linear", "label_matcher"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("twin+twin", "twin+twin names a model twice, expected different models, as in linear+twin"),
        ("linear+twn", "unknown model 'twn'; did you mean 'twin'?"),
        ("linear+", "unknown model ''; there are: "),
        ("linear+nope", "unknown model 'nope'; there are: "),
    ],
)
def test_a_fusion_that_cannot_be_is_one_line(name, line):
    with pytest.raises(InputError) as caught:
        models.get(name)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


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
