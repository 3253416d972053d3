"""Settings are filled by name, checked by type, and say which field is wrong."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

import pytest

from tailwright.augmentation import augmenters
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import settings_from, settings_table


@dataclass(frozen=True)
class Example:
    trees: int = 3
    cost: float = 1.0
    soft: bool = True
    words: int | None = None
    loss: Literal["hinge", "logistic"] = "hinge"
    name: str = "x"

    def __post_init__(self) -> None:
        if self.trees < 1:
            raise ValueError(f"trees must be >= 1, got {self.trees}")


def test_text_and_values_give_the_same_settings():
    text = {"trees": "5", "cost": "0.5", "soft": "false", "words": "7", "loss": "logistic", "name": "y"}
    values = {"trees": 5, "cost": 0.5, "soft": False, "words": 7, "loss": "logistic", "name": "y"}
    assert settings_from(Example, text) == settings_from(Example, values) == Example(**values)
    assert settings_from(Example, {"words": "none", "cost": 2}) == Example(cost=2.0)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"tree": 1}, "unknown setting 'tree'; did you mean 'trees'?"),
        ({"trees": "many"}, "setting trees: found 'many', expected a whole number"),
        ({"trees": [1]}, "setting trees: found [1], expected a whole number"),
        ({"words": [1]}, "setting words: found [1], expected a whole number"),
        ({"cost": {"a": 1}}, "setting cost: found {'a': 1}, expected a number"),
        ({"trees": float("inf")}, "setting trees: found inf, expected a whole number"),
        ({"trees": 1.5}, "setting trees: found 1.5, expected a whole number"),
        ({"trees": True}, "setting trees: found True, expected a whole number"),
        ({"cost": "x"}, "setting cost: found 'x', expected a number"),
        ({"soft": "maybe"}, "setting soft: found 'maybe', expected true or false"),
        ({"loss": "l2"}, "setting loss: found 'l2', expected one of hinge, logistic"),
        ({"name": 3}, "setting name: found 3, expected text"),
        ({"trees": 0}, "trees must be >= 1, got 0"),
    ],
)
def test_a_wrong_setting_is_one_line(values, line):
    with pytest.raises(InputError) as caught:
        settings_from(Example, values)
    assert str(caught.value) == line


@dataclass(frozen=True)
class Whole:
    """Settings with those of a part, which has another default here than alone."""

    share: float = 0.5
    part: Example = Example(trees=1)


def test_settings_within_settings_keep_what_is_not_named():
    assert settings_from(Whole, {"part": {"cost": "2"}}) == Whole(part=Example(trees=1, cost=2.0))
    assert settings_from(Whole, {}) == Whole()


def test_nested_settings_come_back_from_what_they_are_written_as():
    settings = Whole(share=0.25, part=Example(trees=7, soft=False, loss="logistic"))
    written = json.loads(json.dumps(asdict(settings)))
    assert settings_from(Whole, written) == settings


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"part": {"tree": 2}}, "unknown setting 'tree'; did you mean 'trees'?"),
        ({"part": {"trees": "many"}}, "setting trees: found 'many', expected a whole number"),
        ({"part": {"trees": 0}}, "trees must be >= 1, got 0"),
        ({"part": "3"}, "setting part: found '3', expected part.NAME=VALUE"),
        ({"prt": {"trees": 2}}, "unknown setting 'prt'; did you mean 'part'?"),
        ({"share.trees": 2}, "unknown setting 'share.trees'; did you mean 'share'?"),
    ],
)
def test_a_wrong_setting_of_a_part_is_one_line(values, line):
    with pytest.raises(InputError) as caught:
        settings_from(Whole, values)
    assert str(caught.value) == line


@dataclass(frozen=True)
class Choices:
    rows: Literal["tail", "all"] | float = "tail"
    parts: tuple[str, ...] = ()


def test_a_field_of_two_types_takes_what_fits_the_first_or_the_second():
    assert [settings_from(Choices, {"rows": rows}).rows for rows in ("all", "0.5", 1)] == ["all", 0.5, 1.0]
    with pytest.raises(InputError, match="rows: found 'head', expected one of tail, all or a number"):
        settings_from(Choices, {"rows": "head"})


def test_a_list_comes_from_text_with_commas_or_from_a_list():
    for parts in (
        "a, b",
        ["a", "b"],
        ("a", "b"),
        json.loads(json.dumps(asdict(Choices(parts=("a", "b")))))["parts"],
    ):
        assert settings_from(Choices, {"parts": parts}).parts == ("a", "b")
    assert settings_from(Choices, {"parts": ["a, b"]}).parts == ("a, b",)
    assert settings_from(Choices, {"parts": ""}).parts == ()
    with pytest.raises(InputError, match="setting parts: found 3, expected a list"):
        settings_from(Choices, {"parts": 3})
    with pytest.raises(InputError, match="setting parts: found 3, expected text"):
        settings_from(Choices, {"parts": [3]})


@pytest.mark.parametrize("registry", [models, augmenters], ids=["models", "augmenters"])
def test_every_setting_of_every_method_has_a_sentence(registry):
    silent = [
        f"{name}: {one.name}"
        for name in registry.names()
        for one in settings_table(registry.settings(name))
        if not one.meaning.strip()
    ]
    assert silent == []


@pytest.mark.parametrize("registry", [models, augmenters], ids=["models", "augmenters"])
def test_no_two_settings_of_a_method_have_the_same_sentence(registry):
    for name in registry.names():
        meanings = [one.meaning for one in settings_table(registry.settings(name))]
        assert [meaning for meaning in meanings if meanings.count(meaning) > 1] == [], name


def test_a_sentence_that_two_groups_share_says_which_group_it_is_of():
    meanings = {one.name: one.meaning for one in settings_table(models.settings("astec"))}
    assert meanings["surrogate.rate"] == "learning rate (the phase that trains word vectors)"
    assert meanings["extreme.rate"] == "learning rate (the phase that trains classifiers)"
    assert meanings["rerank.epochs"] == "passes over the rows; 0: no reranker"
