"""Tailwright: extreme multi-label text classifiers that get the rare labels right.

>>> import tailwright as tw
>>> run = tw.train(["red shoes", "wool hat"], [["shoes"], ["hats"]], model="linear")
>>> run.predict(["blue shoes"], k=1).names
[['shoes']]
>>> corpus = tw.read("data/")        # doctest: +SKIP
>>> run = tw.load("run/")            # doctest: +SKIP

Names are loaded when they are first used, so that `import tailwright` and `tailwright --help` stay quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME_OF = {
    "Corpus": "tailwright.data.corpus",
    "Dataset": "tailwright.data.dataset",
    "LabelSpace": "tailwright.data.corpus",
    "augment": "tailwright.runs",
    "callbacks": "tailwright.callbacks",
    "continued": "tailwright.runs",
    "demo_corpus": "tailwright.data.demo",
    "evaluate": "tailwright.runs",
    "inspect": "tailwright.data.inspect",
    "load": "tailwright.runs",
    "read": "tailwright.data.read",
    "train": "tailwright.runs",
    "write": "tailwright.data.write",
}

__all__ = [
    "Corpus",
    "Dataset",
    "LabelSpace",
    "__version__",
    "augment",
    "callbacks",
    "continued",
    "demo_corpus",
    "evaluate",
    "inspect",
    "load",
    "read",
    "train",
    "write",
]

if TYPE_CHECKING:
    from tailwright import callbacks
    from tailwright.data.corpus import Corpus, LabelSpace
    from tailwright.data.dataset import Dataset
    from tailwright.data.demo import demo_corpus
    from tailwright.data.inspect import inspect
    from tailwright.data.read import read
    from tailwright.data.write import write
    from tailwright.runs import augment, continued, evaluate, load, train


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tailwright' has no attribute {name!r}")
    home = importlib.import_module(_HOME_OF[name])
    return home if home.__name__ == f"tailwright.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return __all__
