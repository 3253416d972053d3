"""What all benchmarks share: the data folder, timing in turn, peak memory, environments for peers."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".benchmarks"


def data_folder() -> Path:
    """The folder of real datasets: $TAILWRIGHT_DATA, or shared/data beside the checkout."""
    folder = Path(os.environ.get("TAILWRIGHT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        sys.exit("no folder of real datasets; set TAILWRIGHT_DATA")
    return folder


def interleaved(runs: dict[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """Median seconds of each, taken in turn so that a noisy neighbour disturbs all of them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def peak_rss_bytes() -> int:
    """The largest resident memory of this process so far (Linux: VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("VmHWM is not in /proc/self/status")


def peer_python(name: str, *packages: str, alone: tuple[str, ...] = ()) -> Path:
    """The interpreter of a peer's own environment under .benchmarks/, made on first use.

    Packages of `alone` are installed without what they depend on.
    """
    folder = WORK / name
    python = folder / "bin" / "python"
    stamp, asked = folder / ".installed", "\n".join([*packages, *alone])
    if not stamp.exists() or stamp.read_text() != asked:
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "-q"]
        for options, wanted in (((), packages), (("--no-deps",), alone)):
            if wanted:
                subprocess.run([*install, *options, *wanted], check=True, stdout=sys.stderr)
        stamp.write_text(asked)
    return python


def emit(name: str, result: dict[str, Any]) -> None:
    """Print one benchmark's result as JSON, with what it ran on."""
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": name, "machine": machine, **result}, indent=2))
