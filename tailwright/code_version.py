"""`code_version`: a fingerprint of the code that a result depends on, to tell finished work from stale.

Dependencies are found in the sources, without importing anything: every module of the package that is
imported, wherever in a file, and its parent packages. Imports under TYPE_CHECKING do not count, except in a
package that resolves its names on first use, as `tailwright` itself does: there they say in which module a
name lives. Models and augmentations are found by name in a registry and imported by nobody, so the caller
names their modules.

Comments, docstrings and formatting do not count: a better sentence must not discard hours of work.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


def code_version(modules: Iterable[str]) -> str:
    """The digest of these modules of the package and of everything they import from it, directly or not.

    >>> code_version(["tailwright.streams"]) == code_version(["tailwright.streams", "tailwright"])
    True
    """
    return _OURS.version(modules)


Import: TypeAlias = tuple[str, str]  # (module, imported name; empty for the whole module)


@dataclass(frozen=True)
class _Module:
    digest: bytes
    imports: frozenset[Import]
    lazy: dict[str, str]  # names resolved on first use -> their modules


class Sources:
    """The source files of one package, each read once, on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, _Module | None] = {}

    def version(self, modules: Iterable[str]) -> str:
        """The digest of `modules` and of everything they import from the package."""
        digest = hashlib.blake2b(digest_size=16)
        for name, module in sorted(self.used(modules).items()):
            digest.update(name.encode() + b"\0" + module.digest)
        return digest.hexdigest()

    def used(self, modules: Iterable[str]) -> dict[str, _Module]:
        """`modules` and everything they import from the package, by name."""
        used: dict[str, _Module] = {}
        left = list(modules)
        for name in left:
            if self._module(name) is None:
                raise ValueError(f"there is no module {name}")
        while left:
            name = left.pop()
            module = self._module(name)
            if module is None or name in used:
                continue
            used[name] = module
            left.append(name.rpartition(".")[0])
            for source, asked in module.imports:
                left += self._homes(source, asked)
        return used

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
        needed: list[Import] = []
        for_types: list[Import] = []
        _strip(tree, home, needed, for_types)
        resolves = any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)
        return _Module(
            hashlib.blake2b(ast.dump(tree).encode(), digest_size=16).digest(),
            frozenset(needed),
            {asked: source for source, asked in for_types if asked} if resolves else {},
        )


_OURS = Sources(Path(__file__).resolve().parent)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# The fields that hold statements; expressions, most of a tree, hold neither imports nor docstrings.
_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")


def _strip(node: ast.AST, home: str, imports: list[Import], for_types: list[Import]) -> None:
    """Remove docstrings and TYPE_CHECKING blocks from `node`, and list the imports below it.

    Relative imports start from the package `home`.
    """
    if isinstance(node, ast.Import):
        imports += [(alias.name, "") for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        source = importlib.util.resolve_name("." * node.level + (node.module or ""), home)
        imports += [(source, alias.name) for alias in node.names]
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        del node.body[0]
    if isinstance(node, ast.If) and "TYPE_CHECKING" in (
        getattr(node.test, "id", ""),
        getattr(node.test, "attr", ""),
    ):
        for child in node.body:
            _strip(child, home, for_types, for_types)
        node.body = []
    for field in _STATEMENTS:
        for child in getattr(node, field, ()):
            _strip(child, home, imports, for_types)
