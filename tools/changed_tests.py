"""Run the tests of what changed, those that are quick: the last step of `make check`.

    python tools/changed_tests.py [--list] [--base REF] [--seconds 40] [PYTEST OPTIONS]

Changed are the files that differ from where the branch left `origin/main` (or `main`), committed or not. A
test file belongs to a changed module if it imports it, itself or through a helper of the tests; if it takes a
name that a package has from the module; or if it is called like the module or its folder: `test_astec.py`
belongs to `models/astec/network.py`. Examples in docstrings of changed modules run too. What breaks elsewhere
is found by `make test`.

How long a test takes is known from the last run that had it (`tests/conftest.py` keeps it in pytest's cache).
Tests that took more than `--slowest` seconds are left out, then the files that take longest, until the rest
fits into `--seconds` on each of two processes. What is left out is named.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROCESSES = 2
UNKNOWN_SECONDS = 3.0  # of a file that has not run yet


def main() -> int:
    """List or run the tests; the exit code is that of pytest."""
    options, for_pytest = _options()
    seconds = _known_seconds(ROOT / ".pytest_cache")
    closest, others = affected_tests(changed_files(ROOT, options.base), ROOT)
    files, left_out = within(closest, others, seconds, options.seconds * PROCESSES, options.slowest)
    slow = [test for test, taken in seconds.items() if _file(test) in files and taken > options.slowest]
    if left_out or slow:
        told = [*left_out, *(f"{len(slow)} slow tests",) * bool(slow)]
        print(f"left to `make test`: {', '.join(told)}", file=sys.stderr)
    if options.list or not files:
        print("\n".join(files) if files else "no tests of what changed")
        return 0
    processes = ["-n", str(PROCESSES)] if len(files) > 1 else []
    deselected = [word for test in slow for word in ("--deselect", test)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *processes,
        "-m",
        "not slow",
        *deselected,
        *for_pytest,
        *files,
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _options() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the test files and run nothing")
    parser.add_argument("--base", help="what to compare with; default: where the branch left main")
    parser.add_argument("--seconds", type=float, default=40, help="how long the tests may take")
    parser.add_argument("--slowest", type=float, default=3, help="tests that take longer are left out")
    return parser.parse_known_args()


def changed_files(root: Path, base: str | None = None) -> list[str]:
    """Files that differ from `base`, or from where the branch left main; without those that are deleted."""
    if base is None:
        base = next(
            (name for name in ("origin/main", "main") if _git(root, "rev-parse", "-q", "--verify", name)),
            "HEAD",
        )
        base = next(iter(_git(root, "merge-base", base, "HEAD")), "HEAD")
    changed = _git(root, "diff", "--name-only", "--diff-filter=d", base)
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    return sorted({*changed, *new})


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def affected_tests(changed: Iterable[str], root: Path) -> tuple[list[str], list[str]]:
    """What pytest is to run for these files: first what is closest to them, then what imports them.

    Closest are the changed tests, those that are called like a changed module, and its examples.
    """
    changed = [path for path in changed if path.endswith(".py")]
    package = [path for path in changed if path.startswith("tailwright/")]
    modules, names = (
        {module_of(path) for path in package},
        {name for path in package for name in _called(path)},
    )
    helpers = {Path(path).stem for path in changed if path.startswith("tests/")}
    closest, others = package, []
    for path in sorted((root / "tests").rglob("test_*.py")):
        test, imported = path.relative_to(root).as_posix(), imports_of(path, root)
        if test in changed or any(f"{path.stem}_".startswith(f"test_{name}_") for name in names):
            closest.append(test)
        elif (modules | helpers) & imported:
            others.append(test)
    return closest, others


def module_of(path: str) -> str:
    """The dotted name of a file.

    >>> module_of("tailwright/models/astec/__init__.py"), module_of("tailwright/streams.py")
    ('tailwright.models.astec', 'tailwright.streams')
    """
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _called(path: str) -> set[str]:
    """What the tests of a module may be called after: the module, and within a family its folder.

    >>> sorted(_called("tailwright/models/astec/network.py")), sorted(_called("tailwright/models/linear.py"))
    (['astec', 'network'], ['linear'])
    """
    _, *folders, name = Path(path).parts
    stem = {name.removesuffix(".py")} - {"__init__"}
    return stem | set(folders[1:])


@cache
def imports_of(path: Path, root: Path) -> frozenset[str]:
    """Modules of the package, and helpers of the tests, that a test file or one of its helpers imports.

    A name that a package takes from one of its modules counts as that module: `from tailwright.data import
    Corpus` imports `tailwright.data` and `tailwright.data.corpus`; so does `tw.Corpus`.
    """
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    faces = {alias.asname or alias.name for alias in _aliases(tree) if alias.name == "tailwright"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            for alias in node.names:
                found |= _homes(node.module, alias.name, root)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in faces:
            found |= _homes("tailwright", node.attr, root)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= _named_in(node.value, root)  # what a test replaces is often named by a string
    helpers = [helper for helper in (_helper(name, path, root) for name in found) if helper is not None]
    return frozenset(found.union(*(imports_of(helper, root) for helper in helpers)))


def _aliases(tree: ast.Module) -> list[ast.alias]:
    return [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]


def _homes(package: str, name: str, root: Path) -> set[str]:
    """The module `package.name`, or the one that the package takes the name from, and on from there."""
    folder = root.joinpath(*package.split("."))
    if (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists():
        return {f"{package}.{name}"}
    home = _taken_from(folder / "__init__.py").get(name)
    return set() if home is None else {home} | _homes(home, name, root)


@cache
def _taken_from(init: Path) -> Mapping[str, str]:
    """From which module a package takes each of its names."""
    if not init.exists():
        return {}
    nodes = ast.walk(ast.parse(init.read_text(encoding="utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}


def _named_in(text: str, root: Path) -> set[str]:
    """The longest module that a dotted name such as `tailwright.language.work.cache_folder` begins with."""
    parts = text.split(".")
    if parts[0] != "tailwright" or len(parts) < 2 or not all(part.isidentifier() for part in parts):
        return set()
    paths = ["/".join(parts[:length]) for length in range(len(parts), 1, -1)]
    known = (
        path for path in paths if (root / f"{path}.py").exists() or (root / path / "__init__.py").exists()
    )
    return {module_of(path) for path in list(known)[:1]}


def _helper(name: str, test: Path, root: Path) -> Path | None:
    """The file of a helper that tests import by its bare name, from their folder or from tests/."""
    files = (folder / f"{name}.py" for folder in (test.parent, root / "tests"))
    return next((file for file in files if file.exists() and file != test), None)


def within(
    closest: Iterable[str], others: Iterable[str], seconds: Mapping[str, float], most: float, slowest: float
) -> tuple[list[str], list[str]]:
    """The files that fit into `most` seconds, closest first, then quickest, and the rest; without slow tests.

    >>> within([], ["a.py", "b.py"], {"a.py::test_one": 9.0, "b.py::test_one": 1.0}, most=5, slowest=20)
    (['b.py'], ['a.py'])
    """
    taken: dict[str, float] = {}
    for test, of_test in seconds.items():
        taken[_file(test)] = taken.get(_file(test), 0) + (of_test if of_test <= slowest else 0)
    kept: list[str] = []
    left_out: list[str] = []
    total = 0.0
    for files in (closest, others):
        for file in sorted(files, key=lambda name: taken.get(name, UNKNOWN_SECONDS)):
            total += taken.get(file, UNKNOWN_SECONDS)
            (kept if total <= most else left_out).append(file)
    return kept, left_out


def _file(test: str) -> str:
    return test.partition("::")[0]


def _known_seconds(cache_folder: Path) -> dict[str, float]:
    """Seconds of each test in the last run in which it was, by its name."""
    path = cache_folder / "v" / "tailwright" / "seconds"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


if __name__ == "__main__":
    sys.exit(main())
