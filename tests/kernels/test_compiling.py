"""What people see of the compilation of kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
