"""Settings are filled by name, checked by type, and say which field is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from tailwright.errors import InputError
from tailwright.settings import settings_from


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
