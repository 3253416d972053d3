"""Registries: methods found by name, imported only when asked for.

A method is a file or a folder in its room, whose name is the method's name (`la_roberta` is `la-roberta`),
so the names are known from a folder listing and `--help` imports nothing. A folder's `__init__` is light: it
has the `CARD` and the settings, and its `model.py` the class. Files named `_...` do not count.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Collection
from functools import cache
from types import ModuleType
from typing import Any, Generic, TypeVar

from tailwright.errors import InputError

# A class that carries a `card`, whose `name` it is registered by.
Method = TypeVar("Method", bound=type[Any])


class Registry(Generic[Method]):
    """The methods of one kind ("model", "augmenter") that live in one package."""

    def __init__(self, kind: str, package: str, apart: Collection[str] = ()) -> None:
        """`apart` are files and folders of the package that hold no method."""
        self.kind = kind
        self.package = package
        self.apart = frozenset(apart)
        self._found: dict[str, Method] = {}

    def register(self, method: Method) -> Method:
        """Class decorator: make `method` known by its card's name."""
        name = method.card.name
        if name in self._found and self._found[name].__module__ != method.__module__:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._found[name] = method
        return method

    def names(self) -> list[str]:
        """Every name there is, in alphabetical order; nothing is imported but the package itself."""
        return sorted({name.replace("_", "-") for name in self._modules} | self._found.keys())

    def get(self, name: str) -> Method:
        """The class registered as `name`; an unknown name is an InputError with near misses."""
        if name not in self.names():
            raise InputError(unknown(self.kind, name, self.names()))
        if name not in self._found:
            module = importlib.import_module(f"{self.package}.{name.replace('-', '_')}")
            if name not in self._found:
                importlib.import_module(f"{module.__name__}.model")
        return self._found[name]

    def card(self, name: str) -> Any:
        """The card of `name`; the model of a folder is not imported for it."""
        folder = self._folder(name)
        return self.get(name).card if folder is None else folder.CARD

    def settings(self, name: str) -> type[Any]:
        """The settings of `name`; the model of a folder is not imported for them."""
        folder = self._folder(name)
        if folder is None:
            return self.get(name).Settings
        wanted = f"{name.replace('-', '')}settings"  # AstecSettings of astec
        return next(kind for title, kind in vars(folder).items() if title.lower() == wanted)

    @property
    def _modules(self) -> frozenset[str]:
        """The files and folders that hold a method."""
        return _modules_in(*importlib.import_module(self.package).__path__) - self.apart

    def _folder(self, name: str) -> ModuleType | None:
        """The folder of `name`, whose `__init__` has its card and settings; None for a method in a file."""
        file = name.replace("-", "_")
        if name in self._found or file not in self._modules:
            return None
        module = importlib.import_module(f"{self.package}.{file}")
        return module if hasattr(module, "CARD") else None


@cache
def _modules_in(*folders: str) -> frozenset[str]:
    """Files and folders of code that are not private; folders are listed once."""
    return frozenset(module.name for module in pkgutil.iter_modules(folders) if module.name[0] != "_")


def unknown(kind: str, name: str, names: list[str]) -> str:
    """One line for a name that is not there.

    >>> unknown("model", "astek", ["astec", "twin"])
    "unknown model 'astek'; did you mean 'astec'?"
    >>> unknown("model", "x", ["astec", "twin"])
    "unknown model 'x'; there are: astec, twin"
    """
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"unknown {kind} {name!r}; did you mean {near[0]!r}?"
    listing = f"there are: {', '.join(names)}" if names else "there are none"
    return f"unknown {kind} {name!r}; {listing}"
