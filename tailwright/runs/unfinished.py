"""`RUN.partial`: the work folder of an unfinished training, held by one process at a time.

| in the folder | holds |
|---|---|
| `asked.json` | a fingerprint of the data and of everything that was asked for |
| `log.jsonl` | the log, which moves into the run folder in the end |
| `checkpoint/`, a folder for each part | what `tailwright.training.workplace` keeps |
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailwright.errors import InputError, quoted
from tailwright.store.errors import errors_of_writing
from tailwright.store.placing import clear_remains, refuse_unless_free
from tailwright.store.whole_file import write_whole

ASKED, LOG = "asked.json", "log.jsonl"


def partial_of(out: Path) -> Path:
    """Where the log and checkpoints of an unfinished run are."""
    if out.name in ("", ".."):
        raise InputError(f"found the folder {quoted(str(out))}", expected="the name of a new one")
    return out.with_name(out.name + ".partial")


def make_place(
    out: Path, asked: dict[str, Any], resume: bool, overwrite: bool, work: str = "training"
) -> None:
    """Make the work folder of a run; where it is resumed, check that it belongs to the same work.

    For callers who hold it. `work` is what an unfinished one is called.
    """
    if out.is_dir() and any(out.iterdir()) and not overwrite:
        raise InputError("exists already", expected="a new folder, or --overwrite", path=out)
    refuse_unless_free(Path(os.path.realpath(out)), out, overwrite)
    partial = partial_of(out)
    fingerprint = json.dumps(asked, sort_keys=True, default=str)
    with errors_of_writing(partial):
        asked_file = partial / ASKED
        if partial.exists() and overwrite and not resume:
            shutil.rmtree(partial)
        if asked_file.exists():
            if not resume:
                expected = "--resume to go on, or --overwrite to start anew"
                raise InputError(f"an unfinished {work} of this run", expected=expected, path=partial)
            if asked_file.read_text(encoding="utf-8") != fingerprint:
                other = f"an unfinished {work} with other data, model or settings"
                raise InputError(other, expected="the same as before, or --overwrite", path=partial)
        partial.mkdir(parents=True, exist_ok=True)
        clear_remains(asked_file)
        if not asked_file.exists() and any(partial.iterdir()):
            # Killed while the folder was being removed: parts that are left may be of any.
            problem = f"has no {ASKED}, so nobody can tell which {work} it is of"
            raise InputError(problem, expected="--overwrite without --resume, which removes it", path=partial)
        write_whole(asked_file, fingerprint.encode())


@contextmanager
def no_trace_of_a_mistake(partial: Path) -> Iterator[None]:
    """Remove a place in which nothing was done yet when it turns out that what was asked for is wrong."""
    try:
        yield
    except InputError:
        if {path.name for path in partial.iterdir()} <= {ASKED, LOG}:
            shutil.rmtree(partial)
        raise


def finish(out: Path) -> None:
    """Move the log of a saved run into its folder and remove the rest; a kill may come in between."""
    partial = partial_of(out)
    with errors_of_writing(out):
        if (partial / LOG).exists():
            (partial / LOG).replace(out / LOG)
        shutil.rmtree(partial, ignore_errors=True)
