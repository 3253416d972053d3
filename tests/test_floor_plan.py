"""Rooms import only downwards, and heavy libraries load only where they are used."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tailwright.cli import command_names

PACKAGE = Path(__file__).resolve().parent.parent / "tailwright"

# From the top floor to the ground; rooms on one line may not import each other.
FLOORS = [
    ("cli",),
    ("checks",),
    ("study",),
    ("serving",),
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
    ("registry", "progress", "streams", "code_version"),
    ("errors",),
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# The public face: lazy names, resolved when they are first used; and the command line as a module.
FACE = {"__init__", "__main__"}


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms a file imports, wherever the import stands; imports for types alone do not count."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    rooms = set()
    for node in ast.walk(tree):
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_only_downwards(path):
    room = room_of(path)
    if room in FACE:
        return
    assert room in FLOOR_OF, f"{room} is on no floor: add it to FLOORS and to docs/architecture.md"
    upwards = {r for r in imported_rooms(path) if r != room and FLOOR_OF[r] <= FLOOR_OF[room]}
    assert not upwards, f"{path.relative_to(PACKAGE)} imports upwards: {sorted(upwards)}"


def test_every_room_of_the_floor_plan_is_in_the_docs():
    docs = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    assert [room for room in {room_of(f) for f in FILES} - FACE if f"`{room}" not in docs] == []


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
