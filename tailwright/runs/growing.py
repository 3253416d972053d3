"""`add_labels`: a run folder with more labels, written whole, with the log of the run that it came from."""

from __future__ import annotations

from pathlib import Path

from tailwright.data.labels_to_add import labels_to_add
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.runs.run import Run, load
from tailwright.runs.unfinished import LOG
from tailwright.store.errors import errors_of_writing
from tailwright.store.whole_file import write_whole
from tailwright.training.workplace import Workplace


def add_labels(run: Path, labels: Path, out: Path, *, overwrite: bool = False) -> tuple[Run, tuple[str, ...]]:
    """Add the labels of a file to the run in a folder; the new run, and what there is to say about it.

    `out` may be the folder of the run itself.
    """
    if out.is_dir() and any(out.iterdir()) and not overwrite:
        raise InputError("exists already", expected="a new folder, or --overwrite", path=out)
    before = load(run)
    more, notes = labels_to_add(labels, before.labels)
    grown = before.with_labels(more, source=str(labels.resolve()))
    parts = before.name.split("+")
    silent = [part for part in parts if not models.card(part).adds_labels]
    if silent:
        able = [part for part in parts if part not in silent]
        notes = (*notes, f"{' and '.join(able)} will rank the new labels; {' and '.join(silent)} cannot")
    log = (run / LOG).read_bytes() if (run / LOG).exists() else b""
    grown.save(out, overwrite=overwrite)
    with errors_of_writing(out):
        write_whole(out / LOG, log)
        Workplace(out).log("labels", before=len(before.labels), after=len(grown.labels))
    return grown, notes
