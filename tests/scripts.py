"""Scripts in processes that tests may kill, forked from one that has imported the heavy libraries already.

    script = start_script(tiny_fit.__file__, folder, OMP_NUM_THREADS="2")
    printed, _ = script.communicate()

A new process would import torch and transformers first, which takes seconds, and tests start dozens. The one
that is forked has imported `preloaded` and computed nothing, so a script starts from the same state as in a
new process; but for the seed of Python's hashes, which all share. So one process of every test is a new one:
`start_anew`.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import time
import warnings
from multiprocessing import forkserver
from pathlib import Path

import pytest

MOST_THREADS = 2
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["preloaded"])


class Script:
    """A forked script, with the methods of `subprocess.Popen` that tests use."""

    def __init__(
        self, path: str, arguments: tuple[str, ...], environment: dict[str, str], strict: bool
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="script-"))
        for name in ("stdout", "stderr"):
            (self.folder / name).touch()
        asked = {"folder": str(self.folder), "strict": strict, "environment": {**os.environ, **environment}}
        asked["current"] = str(Path.cwd())
        self.process = _context.Process(target=_run, args=(path, arguments), kwargs=asked)
        self.process.start()

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it has printed, when it has ended."""
        self.process.join(timeout)
        assert self.process.exitcode is not None, f"still running after {timeout} s"
        printed, errors = ((self.folder / name).read_text() for name in ("stdout", "stderr"))
        print(errors, file=sys.stderr, end="")  # pytest shows it with a failure
        return printed, errors

    def wait_for_line(self, count: int) -> None:
        """Wait until it has printed so many lines, or has ended."""
        while self.poll() is None and (self.folder / "stdout").read_text().count("\n") < count:
            time.sleep(0.001)


def start_script(path: str | Path, *arguments: object, strict: bool = False, **environment: str) -> Script:
    """Run a Python file as the main module with these arguments; `strict`: its warnings are errors."""
    with pytest.MonkeyPatch.context() as patch:
        # The process to fork from lets scripts have more threads than we.
        patch.delenv("OMP_NUM_THREADS", raising=False)
        patch.setenv("NUMBA_NUM_THREADS", str(MOST_THREADS))
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()
    return Script(str(path), tuple(map(str, arguments)), environment, strict)


def start_anew(
    path: str | Path, *arguments: object, strict: bool = False, **environment: str
) -> subprocess.Popen[str]:
    """The same in a new process, which has a hash seed of its own."""
    command = [sys.executable, *(("-W", "error") if strict else ()), str(path), *map(str, arguments)]
    paths = os.pathsep.join(sys.path)
    ours = {**os.environ, "PYTHONPATH": paths, **environment}
    return subprocess.Popen(command, env=ours, stdout=subprocess.PIPE, text=True)


def start_command(*arguments: object, **environment: str) -> Script:
    """`tailwright` with these arguments."""
    return start_script(Path(__file__).with_name("command.py"), *arguments, **environment)


def _run(
    path: str,
    arguments: tuple[str, ...],
    *,
    folder: str,
    current: str,
    strict: bool,
    environment: dict[str, str],
) -> None:
    """In the forked process: become the script."""
    os.chdir(current)
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(Path(folder, name), os.O_WRONLY)
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(environment)
    _set_threads()
    if strict:
        warnings.simplefilter("error")
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).parent))
    runpy.run_path(path, run_name="__main__")
    sys.stdout.flush()


def _set_threads() -> None:
    """What the environment would have told libraries that are imported already."""
    import numba
    import torch

    numba_threads = int(os.environ.get("NUMBA_NUM_THREADS", MOST_THREADS))
    os.environ["NUMBA_NUM_THREADS"] = str(MOST_THREADS)  # numba reads it again, and no change is allowed then
    numba.set_num_threads(numba_threads)
    # After numba, which sets the number of OpenMP threads too.
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", MOST_THREADS)))


def undisturbed_and_killed(path: str, *arguments: str, folder: Path, until: str) -> tuple[str, str]:
    """What a script prints, and what it prints when it is killed as soon as a file is there, then resumed.

    Its last argument is the folder to work in: `undisturbed` and `killed` below `folder`. `until` is a path
    below that.
    """
    threads = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    asked, killed = (path, *arguments), folder / "killed"
    for name in ("undisturbed", "killed"):
        (folder / name).mkdir()
    undisturbed = start_script(*asked, folder / "undisturbed", **threads)
    wanted, _ = undisturbed.communicate()
    assert undisturbed.returncode == 0
    script = start_script(*asked, killed, **threads)
    while script.poll() is None and not (killed / until).exists():
        time.sleep(0.001)
    assert script.poll() is None, "it was done before it could be killed"
    script.kill()
    script.communicate()
    last = start_anew(*asked, killed, **threads)
    found, _ = last.communicate()
    assert last.returncode == 0
    return wanted, found
