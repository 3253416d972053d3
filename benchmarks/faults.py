"""Tries to break tailwright for an hour: kills, damage, bad data, settings at their ends, crowds, scarcity.

usage: faults.py [--minutes 60] [--part PART]... [--seed N] [--processes N] [--trials N] [--trial N]
                 [--light] [--folder FOLDER]

| part | a trial |
|---|---|
| `kills` | a long command is killed at a random moment and goes on; it leaves what others leave |
| `folders` | a run folder is damaged, with right hashes or not; it is refused, or predicts as it should |
| `files` | a data file of any format is changed; it is read, or refused in one line that names it |
| `settings` | a setting of any method at its ends and beyond: refused in one line, or it works |
| `crowds` | two or eight processes at one command and one folder |
| `scarcity` | too little memory, too few files, too small files, a full disk; then the same with enough |

The time is shared among the parts, in as many processes as there are cores. Every failure is a line of JSON
on stderr as it comes, with the command that reproduces it: seed and number of a trial say all of it but when
processes run. In the end all figures are on stdout as JSON; with a failure the exit code is 1.
Ctrl-C ends it early, with the figures so far.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import common

if TYPE_CHECKING:
    from fault_parts import Outcome, Part

PARTS = {
    "kills": "fault_parts.kills.Kills",
    "folders": "fault_parts.folders.Folders",
    "files": "fault_parts.files.Files",
    "settings": "fault_parts.setting_ends.SettingEnds",
    "crowds": "fault_parts.crowds.Crowds",
    "scarcity": "fault_parts.scarcity.Scarcity",
}
# One thread each, as trials run beside each other, and of a kind that outlives a fork; no network.
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"),
    "NUMBA_THREADING_LAYER": "workqueue",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}


def main() -> int:
    asked = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the processes of all parts
    # Before numpy, torch and numba are imported, which read them then.
    os.environ.update(ENVIRONMENT)
    sys.path[:0] = [str(common.ROOT / "tests"), str(common.ROOT / "tests" / "data")]
    with tempfile.TemporaryDirectory(prefix="faults-") as scratch:
        place = asked.folder or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        os.environ["TAILWRIGHT_CACHE"] = str(place / "cache")
        figures = run(place.resolve(), asked)
    common.emit("faults", figures)
    return 1 if figures["failures"] else 0


def run(place: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Prepare, try for so long, and give what came of it."""
    from fault_parts.preparing import prepared
    from fault_parts.sharing import Work, shared

    prepared(place, asked.light)
    failures = []
    works = [
        Work(part, place, asked.seed, asked.trial or 0, 1 if asked.trial is not None else asked.trials)
        for part in map(_part, asked.part or PARTS)
    ]
    try:
        for work, number, outcome in shared(works, 60 * asked.minutes, asked.processes):
            if outcome.problem:
                failures.append(failure(work.part, asked.seed, number, outcome))
                print(json.dumps(failures[-1]), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped; these are the figures so far", file=sys.stderr)
    finally:
        for work in works:
            work.end()
    parts = {
        work.part.name: {
            "trials": work.came.total(),
            "of": work.part.count(place),
            "seconds": round(work.seconds, 1),
            "a_second": round(work.came.total() / max(work.seconds, 1e-9), 2),
            "came": dict(work.came.most_common()),
        }
        for work in works
    }
    return {"seed": asked.seed, "parts": parts, "failures": failures}


def failure(part: Part, seed: int, number: int, outcome: Outcome) -> dict[str, Any]:
    """A failure with all that there is to know."""
    again = f"python benchmarks/faults.py --part {part.name} --seed {seed} --trial {number}"
    told = {"part": part.name, "seed": seed, "trial": number, "done": outcome.done}
    return {**told, "seen": outcome.problem, "reproduce": again}


def _part(name: str) -> Part:
    module, _, kind = PARTS[name].rpartition(".")
    made: Part = getattr(importlib.import_module(module), kind)()
    return made


def _arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--trials", type=int, help="the most trials of each part")
    parser.add_argument("--trial", type=int, help="only the trial of this number, which a failure names")
    parser.add_argument("--folder", type=Path, help="where to work, and what is found there is used again")
    parser.add_argument("--light", action="store_true", help="without the models that need torch")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
