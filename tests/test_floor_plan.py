"""Rooms import only downwards, and heavy libraries load only where they are used."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailwright.cli import command_names
from tailwright.models import models

PACKAGE = Path(__file__).resolve().parent.parent / "tailwright"

# From the top floor to the ground; rooms on one line may not import each other.
FLOORS = [
    ("cli",),
    ("serving",),
    ("cluster",),
    ("checks",),
    ("study",),
    ("sklearn",),
    ("runs",),
    ("models",),
    ("augmentation",),
    ("language",),
    ("training",),
    ("heads",),
    ("encoders",),
    ("labels",),
    ("evaluation",),
    ("pretrained",),
    ("data",),
    ("store",),
    ("kernels",),
    ("settings",),
    ("registry", "progress", "callbacks", "streams", "code_version"),
    ("errors",),
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# The public face: lazy names, resolved when they are first used; and the command line as a module.
FACE = {"__init__", "__main__"}


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node, but for imports for types alone; expressions hold none."""
    tested = node.test if isinstance(node, ast.If) else None
    for_types = isinstance(tested, ast.Name) and tested.id == "TYPE_CHECKING"
    for part in ("orelse",) if for_types else ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, part, ()):
            yield statement
            yield from statements(statement)


def imported_rooms(path: Path) -> set[str]:
    """The rooms a file imports, wherever the import stands; imports for types alone do not count."""
    rooms = set()
    for node in statements(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "tailwright":
            names = [f"tailwright.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names = [node.module]
        rooms |= {name.split(".")[1] for name in names if name.startswith("tailwright.")}
    return {room for room in rooms if room in FLOOR_OF}


FILES = sorted(PACKAGE.rglob("*.py"))


def test_imports_point_only_downwards():
    """One test for all files: a test for each took longer to set up than to run."""
    upwards = {}
    for path in FILES:
        room = room_of(path)
        if room in FACE:
            continue
        assert room in FLOOR_OF, f"{room} is on no floor: add it to FLOORS and to docs/architecture.md"
        above = {other for other in imported_rooms(path) - {room} if FLOOR_OF[other] <= FLOOR_OF[room]}
        if above:
            upwards[str(path.relative_to(PACKAGE))] = above
    assert upwards == {}, "these files import upwards"


def test_every_room_of_the_floor_plan_is_in_the_docs():
    docs = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    assert [room for room in {room_of(f) for f in FILES} - FACE if f"`{room}" not in docs] == []


DEEP = {"torch", "transformers", "tokenizers"}
# What imports DEEP libraries at the top of a file: nothing that commands, `linear`, `twin`, their fusion, the
# floors or an augmentation without a language model import in turn.
DEEP_MODELS = {name for name in models.names() if "+" not in name and models.card(name).extra == "deep"}
DEEP_FOLDERS = {name.replace("-", "_") for name in DEEP_MODELS}
DEEP_FILES = {PACKAGE / "runs" / "explain_mix.py"}  # runs the networks that TailMix mixes in


def imported_on_top(path: Path) -> set[str]:
    """The modules that a file imports before anything in it is called."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def files_of(module: str) -> list[Path]:
    """The file of a module of the package and the `__init__` of every folder above it."""
    parts = module.split(".")[1:]
    folders = [PACKAGE.joinpath(*parts[:depth], "__init__.py") for depth in range(len(parts) + 1)]
    file = PACKAGE.joinpath(*parts).with_suffix(".py")
    return [path for path in (*folders, file) if path.exists()]


def is_light(path: Path) -> bool:
    """Whether a file is one that must do without deep libraries, by where it lies."""
    parts = path.relative_to(PACKAGE).parts
    if path in DEEP_FILES:
        return False
    if parts[0] == "models":
        return parts[1] not in {*DEEP_FOLDERS, "shared"} or path.name == "__init__.py"
    if parts[0] == "augmentation":
        return parts[1] != "shared"
    return parts[0] in {"cli", "study", "runs", "evaluation", "labels", "store", "kernels", "__init__.py"}


LIGHT = [path for path in FILES if is_light(path)]


def test_the_light_half_does_not_import_torch():
    """One walk over all that light files import; `reached` names the light file that each was found from."""
    reached, waiting = {path: path for path in LIGHT}, list(LIGHT)
    deep = []
    while waiting:
        file = waiting.pop()
        modules = imported_on_top(file)
        libraries = sorted(module for module in modules if module.partition(".")[0] in DEEP)
        if libraries:
            light, found = (path.relative_to(PACKAGE) for path in (reached[file], file))
            deep.append(f"{light} imports {found}, which imports {libraries}")
        ours = (module for module in modules if module.startswith("tailwright"))
        for imported in (path for module in ours for path in files_of(module)):
            if imported not in reached:
                reached[imported] = reached[file]
                waiting.append(imported)
    assert deep == []


def test_a_model_that_imports_torch_says_so_on_its_card():
    folders = {path.parent.name for path in PACKAGE.glob("models/*/model.py")} - {"fusion"}
    assert {name for name in folders if not is_light(PACKAGE / "models" / name / "model.py")} == DEEP_FOLDERS
    assert folders - DEEP_FOLDERS == {"twin"}


HEAVY = [
    "torch",
    "transformers",
    "numba",
    "pyarrow",
    "scipy",
    "numpy",
    "tokenizers",
    "jinja2",
]


HELP = f"""
import contextlib, io, json, sys
from tailwright.cli import command_names, run

told = {{}}
for command in command_names():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = run([*command, "--help"])
    told[" ".join(command)] = code, [m for m in {HEAVY} if m in sys.modules], printed.getvalue()
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def helped() -> dict[str, tuple[int, list[str], str]]:
    """Exit code, heavy libraries that are loaded by then, and help of each command, all in one process."""
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("command", command_names(), ids=lambda command: " ".join(command) or "root")
def test_help_loads_no_heavy_library(helped, command):
    code, heavy, printed = helped[" ".join(command)]
    assert (code, heavy) == (0, [])
    assert "Usage" in printed


def test_importing_the_package_loads_no_heavy_library():
    code = f"import sys, tailwright; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_had():
    import tailwright

    for name in tailwright.__all__:
        assert getattr(tailwright, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tailwright.nonsense
