"""Every public name has a docstring with an example, which the doctests run."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailwright as tw
from tailwright.runs import Predictions, Run
from tailwright.sklearn import TailwrightClassifier

NAMES = {name: getattr(tw, name) for name in tw.__all__ if name != "__version__"}
CLASSES = [Run, tw.Corpus, tw.Dataset, tw.LabelSpace, Predictions, TailwrightClassifier]


@pytest.mark.parametrize("name", [*NAMES, "Run", "Predictions", "TailwrightClassifier"])
def test_a_public_name_has_an_example(name):
    public = NAMES.get(name) or next(kind for kind in CLASSES if kind.__name__ == name)
    assert ">>> " in str(public.__doc__)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_public_method_says_what_it_does(kind):
    silent = [
        name
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and (callable(value) or isinstance(value, property | staticmethod))
        and not value.__doc__
    ]
    assert silent == []


def test_type_checkers_are_told_that_the_package_has_types():
    assert (Path(tw.__file__).parent / "py.typed").exists()
