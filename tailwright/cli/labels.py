"""`tailwright labels add`: new labels for a trained run, by their texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailwright.cli.hints import predicted
from tailwright.cli.options import command
from tailwright.cli.output import Output
from tailwright.errors import InputError


@command
def add(
    out: Output,
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    path: Annotated[
        Path, typer.Argument(metavar="LABELS", help="New labels: a labels file, or a vocabulary.")
    ],
    out_folder: Annotated[
        Path | None, typer.Option("--out", metavar="RUN2", help="The run folder to write.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace RUN2 if it is there; without --out, RUN itself.")
    ] = False,
) -> None:
    """Add labels to a run by their texts; nothing is trained, and known labels keep their places.

    A model that finds labels by their texts ranks them at once: twin, label-matcher, or a fusion with one of
    them. LABELS has a row for each label: `text`, and perhaps `id` and `name`.

    Example: `tailwright labels add run/ new-labels.csv --out run2/`
    """
    if out_folder is None and not overwrite:
        raise InputError("no --out", expected="--out RUN2, or --overwrite to replace RUN")
    from tailwright.runs.growing import add_labels

    target = out_folder or folder
    run, notes = add_labels(folder, path, target, overwrite=overwrite)
    for note in notes:
        out.note(note)
    before, after = run.later[-1].labels_before, run.later[-1].labels_after
    out.text(f"wrote {target}: {run.name}, {before:,} labels and {after - before:,} new ones")
    out.next(*predicted(target, run.labels.texts.slice(before)))
    out.result(run=str(target), model=run.name, labels_before=before, labels=after)
