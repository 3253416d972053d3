"""`code_version`: a fingerprint of the code that a result depends on, to tell finished work from stale.

Dependencies are found in the sources, without importing anything: every module of the package that is
imported, wherever the import stands, and the packages on the way to it. Imports for types alone do not count,
unless a package resolves its names on first use, as `tailwright` itself does: then what it lists for type
checkers says where a name that is asked of it lives. What a registry finds by name is nobody's import, so the
modules of models and augmentations are given by whoever asks.

Comments, docstrings and formatting do not count: a better sentence must not throw away hours of work.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


def code_version(modules: Iterable[str]) -> str:
    """The digest of these modules of the package and of all that they import from it, directly or not.

    >>> code_version(["tailwright.streams"]) == code_version(["tailwright.streams", "tailwright"])
    True
    """
    return _ours().version(modules)


@cache
def _ours() -> Sources:
    return Sources(Path(__file__).resolve().parent)


@dataclass(frozen=True)
class _Module:
    digest: bytes
    imports: frozenset[tuple[str, str]]  # (module, name asked of it, empty where it is imported as a whole)
    lazy: dict[str, str]  # where the names live that are resolved on first use


class Sources:
    """The source files of one package, each read once, when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, _Module | None] = {}

    def version(self, modules: Iterable[str]) -> str:
        """The digest of `modules` and of all that they import from the package."""
        digest = hashlib.blake2b(digest_size=16)
        for name, module in sorted(self.used(modules).items()):
            digest.update(name.encode() + b"\0" + module.digest)
        return digest.hexdigest()

    def used(self, modules: Iterable[str]) -> dict[str, _Module]:
        """`modules` and all that they import from the package, by name."""
        found: dict[str, _Module] = {}
        left = list(modules)
        for name in left:
            if self._module(name) is None:
                raise ValueError(f"there is no module {name}")
        while left:
            name = left.pop()
            if name in found:
                continue
            module = self._module(name)
            if module is None:
                continue
            found[name] = module
            left += [package for package in [name.rpartition(".")[0]] if package]
            for source, asked in module.imports:
                left += self._homes(source, asked)
        return found

    def _homes(self, source: str, asked: str) -> Iterator[str]:
        """The modules that `from source import asked` needs."""
        yield source
        if not asked:
            return
        yield f"{source}.{asked}"  # a module of that name, if there is one
        module = self._module(source)
        if module is not None and asked in module.lazy:
            yield module.lazy[asked]

    def _module(self, name: str) -> _Module | None:
        """The module of that name, or None if this package has none."""
        if name not in self._read:
            self._read[name] = self._parsed(name)
        return self._read[name]

    def _parsed(self, name: str) -> _Module | None:
        package, *below = name.split(".")
        if package != self.folder.name:
            return None
        place = self.folder.joinpath(*below)
        path = place / "__init__.py" if place.is_dir() else place.with_name(f"{place.name}.py")
        if not path.is_file():
            return None
        tree = ast.parse(path.read_bytes())
        home = name if place.is_dir() else name.rpartition(".")[0]
        needed, for_types = _Imports(home), _Imports(home)
        _strip(tree, needed, for_types)
        resolves = any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)
        return _Module(
            hashlib.blake2b(ast.dump(tree).encode(), digest_size=16).digest(),
            frozenset(needed.found),
            {asked: source for source, asked in for_types.found if asked} if resolves else {},
        )


class _Imports:
    """Imports of one module as (module, name asked of it); relative ones start from the package `home`."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.found: list[tuple[str, str]] = []

    def add(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            self.found += [(alias.name, "") for alias in node.names]
        else:
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), self.home)
            self.found += [(source, alias.name) for alias in node.names]


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# The fields that hold statements; expressions hold neither imports nor docstrings, and are most of a tree.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _strip(node: ast.AST, imports: _Imports, for_types: _Imports) -> None:
    """Take docstrings and what is there for types alone out of `node`, and list the imports below it."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        imports.add(node)
        return
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        del node.body[0]
    if isinstance(node, ast.If) and _asks_for_types(node.test):
        for child in node.body:
            _strip(child, for_types, for_types)
        node.body = []
    for block in _BLOCKS:
        for child in getattr(node, block, ()):
            _strip(child, imports, for_types)


def _asks_for_types(test: ast.expr) -> bool:
    name = test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")
    return name == "TYPE_CHECKING"
