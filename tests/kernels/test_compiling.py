"""What people see of the compilation of kernels, and who may call which."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT, ROOMS = Path(__file__).parents[2], ("tailwright", "tests", "benchmarks", "tools")
SCRIPT = """
import numpy as np
from tailwright import progress
from tailwright.kernels.csr import gather_rows, transposed
progress.show({shown})
matrix = np.array([0, 1]), np.array([0], dtype=np.int32), np.ones(1, dtype=np.float32)
transposed(*matrix, 1)
gather_rows(*matrix, np.array([0]))
"""


def said(cache: Path, *, shown: bool) -> str:
    """What a new process with this cache of kernels prints to stderr."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", SCRIPT.format(shown=shown)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert not result.stdout
    return result.stderr


def test_one_line_says_that_kernels_are_compiled_and_kept_kernels_need_none(tmp_path):
    first = said(tmp_path, shown=True)
    assert first.startswith("compiling kernels for this machine, once")
    assert first.count("\n") == 1
    assert said(tmp_path, shown=True) == ""


def test_nothing_is_said_where_no_progress_is_shown(tmp_path):
    assert said(tmp_path, shown=False) == ""


def test_what_has_no_entry_from_python_is_called_by_kernels_alone():
    """A call from Python would end the process."""
    trees = {path: ast.parse(path.read_text()) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    helpers = {
        function.name: path
        for path, tree in trees.items()
        for function in tree.body
        if isinstance(function, ast.FunctionDef) and without_entry(function)
    }
    assert helpers
    calls = [
        f"{path.relative_to(ROOT)}:{name.lineno} {name.id}"
        for path, tree in trees.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and not any("njit" in d for d in decorators(function))
        if not without_entry(function)
        for name in ast.walk(function)
        if isinstance(name, ast.Name) and name.id in helpers
        if path == helpers[name.id] or name.id in taken_from_kernels(tree)
    ]
    assert calls == []


def decorators(function: ast.FunctionDef) -> list[str]:
    return [ast.unparse(decorator) for decorator in function.decorator_list]


def without_entry(function: ast.FunctionDef) -> bool:
    return any(name == "helper" or "HELPER" in name for name in decorators(function))


def taken_from_kernels(tree: ast.Module) -> set[str]:
    """The names that a file imports from kernels."""
    return {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tailwright.kernels")
        for name in node.names
    }
