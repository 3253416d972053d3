"""What a long command writes when nothing disturbs it, and how long it takes; found when first asked for."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fault_parts.children import Command, warm
from fault_parts.jobs import Job
from tailwright.code_version import code_version
from tailwright.store.whole_file import write_whole

LONGEST = 600.0  # seconds, after which a command counts as one that does not end: a busy machine is slow


@dataclass(frozen=True)
class Reference:
    """The content of the folder of a job, and the seconds until it was there."""

    content: dict[str, str]
    seconds: float


def reference(job: Job, place: Path) -> Reference:
    """Kept in a file, so that all parts and processes compare with the same; other code makes its own."""
    kept = place / "references" / _code() / f"{job.name.replace(' ', '-')}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    _warm(job, kept.parent, place)
    if kept.exists():
        return Reference(**json.loads(kept.read_text()))
    out = Path(tempfile.mkdtemp(dir=kept.parent))
    start = time.monotonic()
    ended = Command(job.words_for(place, out), out.with_suffix(".said")).wait_for(LONGEST)
    seconds = time.monotonic() - start
    problem = f"took more than {LONGEST:g} s" if ended is None else ended.problem(0)
    if problem:
        raise RuntimeError(f"undisturbed, `{job.name}` failed: {problem}")
    found = Reference(job.content(out), seconds)
    write_whole(kept, json.dumps(vars(found)).encode())
    return found


@cache
def _code() -> str:
    return code_version(["tailwright", "tailwright.cli", "tailwright.study.run.worker"])[:12]


@cache
def _warm(job: Job, folder: Path, place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as out:
        warm(job.words_for(place, Path(out)))
