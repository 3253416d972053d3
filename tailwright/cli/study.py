"""`tailwright study`: a grid of trainings, with tables and a report of what came out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailwright.cli.hints import trained_on
from tailwright.cli.options import On, Threads, command
from tailwright.cli.output import Output
from tailwright.errors import InputError
from tailwright.study.run.display import in_words

if TYPE_CHECKING:
    from tailwright.study.run.runner import Ran, Study


@command
def study(
    out: Output,
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to train and to compare.")],
    place: Annotated[Path, typer.Option("--out", metavar="DIR", help="The study's folder.")],
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            max=100_000,
            help="How many cells are run at a time.",
            show_default="1; with --on as many as the cluster has cores for",
        ),
    ] = None,
    on: On = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PATTERN", help="Only cells with this in their name (* and ? work)."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the cells and what is left to do; run nothing.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="OUTCOMES",
            help="Write what came of finished cells into this small folder, beside what it holds already; "
            "run nothing and leave DIR as it is.",
        ),
    ] = None,
    take: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="OUTCOMES",
            help="First take in what --keep wrote, of whatever version of the code: such cells are finished.",
        ),
    ] = None,
    no_training: Annotated[
        bool, typer.Option("--no-training", help="Run no cell; write tables and report of what is finished.")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Train cells that were taken in with --from.")] = False,
    threads: Threads = None,
) -> None:
    """Train every dataset x model x augmentation x fraction x seed of a plan, and compare what came out.

    A plan is a TOML file that shows the whole experiment at a glance:

        seeds = [0, 1, 2]
        fractions = [0.05, 1.0]
        [datasets]
        mine = "data/"
        [models.linear]
        [models.twin]
        [augmentations.none]
        [augmentations.gandalf]

    Each cell of that grid is trained in a process of its own and kept in DIR/cells. A finished cell is never
    run again, a failed one is recorded and the rest goes on. Stopped or killed, the same command goes on
    where it was; several may work on one DIR. In the end DIR has results.parquet, tables.md, tables.tex and
    report.html.

    With --on each cell is a task of a Ray cluster, of --threads threads (default 1). DIR and the data must be
    on storage that all nodes see under the same path.

    Trained runs are large and stay in DIR; --keep writes all else that came of finished cells into a folder
    of files for a repository, and --from takes it in elsewhere, so that tables need no training.

    Example: `tailwright study studies/demo.toml --out demo-study --workers 2`
    """
    from tailwright.study.compare.conclusion import conclude
    from tailwright.study.plan.plan import read_plan
    from tailwright.study.run.keeping import drop_taken, keep_outcomes, take_outcomes
    from tailwright.study.run.runner import Ran, prepared, write_down

    _refuse_together(
        {"--keep": keep, "--from": take, "--anew": anew, "--dry-run": dry_run},
        {"--on": on, "--keep": keep, "--dry-run": dry_run, "--no-training": no_training},
        {"--anew": anew, "--no-training": no_training},
    )
    if on is not None:
        from tailwright.cluster.connection import check_address

        check_address(on)
    planned = prepared(read_plan(file), place)
    if not planned.keys(only):
        some = next(iter(planned.keys().values())).title
        raise InputError(
            f"--only {only!r} is in the name of no cell", expected=f"a part of one such as {some!r}"
        )
    for reason in planned.plan.left_out:
        out.note(f"left out: {reason}")
    again = ["study", str(file), "--out", str(place)]
    if dry_run:
        _show_plan(out, planned, only)
        out.next(*again)
        return
    if keep is not None:
        kept = keep_outcomes(planned, keep, only)
        out.text(
            f"{kept.written} outcomes written to {keep}, {kept.unchanged} as they were; "
            f"{kept.missing} cells are not finished"
        )
        out.next(*again, "--from", str(keep))
        out.result(outcomes=str(keep), written=kept.written, unchanged=kept.unchanged, missing=kept.missing)
        return
    if take is not None:
        out.note(f"{take_outcomes(planned, take, only)} outcomes taken from {take}")
    if anew:
        out.note(f"{drop_taken(planned, only)} cells are trained anew")
    try:
        if no_training:
            write_down(planned)
            asked = planned.keys(only)
            ran = Ran(len(asked), finished=sum(map(planned.is_finished, asked)))
        else:
            shown = not out.quiet
            ran = _ran(planned, on, workers=workers, threads=threads, only=only, shown=shown)
    except KeyboardInterrupt:
        out.note("what is finished stays; the same command goes on from here")
        raise
    written = conclude(planned, shlex.join(["tailwright", *again]), out.note)
    out.text(f"{ran.finished} of {ran.asked} cells are finished, {len(ran.failed)} failed")
    for name, reason in ran.failed.items():
        out.text(f"failed: {name}: {reason}")
    for path in written:
        out.text(f"wrote {path}")
    out.next(*(again if ran.failed else _train_best(planned)))
    out.result(
        study=str(planned.folder),
        cells=ran.asked,
        finished=ran.finished,
        failed=ran.failed,
        left_out=list(planned.plan.left_out),
        seconds=round(ran.seconds, 3),
        files=[path.name for path in written],
    )
    if ran.failed:
        raise typer.Exit(1)


def _ran(
    planned: Study,
    on: str | None,
    *,
    workers: int | None,
    threads: int | None,
    only: str | None,
    shown: bool,
) -> Ran:
    """What came of the cells, run here or on a cluster."""
    from tailwright.study.run.runner import run_study

    if on is None:
        return run_study(planned, workers=workers or 1, threads=threads, only=only, shown=shown)
    from tailwright.cluster.connection import connected
    from tailwright.cluster.studying import RayWorkers

    with connected(on, workers=workers, threads=threads) as cluster:
        return run_study(planned, workers=RayWorkers(cluster, planned.folder), only=only, shown=shown)


def _refuse_together(*groups: Mapping[str, object]) -> None:
    """InputError if more than one option of a group is given."""
    for group in groups:
        given = [name for name, value in group.items() if value]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} together", expected="one of them")


def _train_best(planned: Study) -> list[str]:
    """The words that train the finished cell with the highest PSP@5 as a run; or none."""
    from tailwright.study.run.exam import DEMO
    from tailwright.study.run.outcomes import outcomes_of

    best = max(outcomes_of(planned.folder), key=lambda one: one.metrics.get("PSP@5", 0.0), default=None)
    if best is None:
        return []
    cell = best.cell
    if cell.path.partition(":")[0] == DEMO or cell.ensemble or cell.search or cell.fraction < 1:
        return []
    settings = dict(cell.settings)
    for method, values in cell.augment_settings.items():
        settings |= {f"{method}.{name}": value for name, value in values.items()}
    if not all(isinstance(value, str | int | float) for value in settings.values()):
        return []
    chosen = [word for method in cell.augment or ("none",) for word in ("--augment", method)]
    chosen += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return trained_on([cell.path, "--model", cell.model, *chosen])


def _show_plan(out: Output, planned: Study, only: str | None) -> None:
    """Every cell with its state, and an estimate of what is left."""
    estimate = planned.estimate()
    cells = planned.keys(only)
    states = {
        key: "finished" if planned.is_finished(key) else "failed" if planned.reason(key) else "to do"
        for key in cells
    }
    expected = {key: estimate.of(cell) for key, cell in cells.items()}
    out.table(
        ["cell", "key", "state", "about"],
        [
            [cell.title, key, states[key], "" if (s := expected[key]) is None else in_words(s)]
            for key, cell in cells.items()
        ],
    )
    left = [cell for key, cell in cells.items() if states[key] != "finished"]
    seconds = estimate.left(left, [], 1)
    about = "" if seconds is None else f", about {in_words(seconds)} with one worker"
    out.text(f"{len(cells) - len(left)} of {len(cells)} cells are finished{about if left else ''}")
    out.result(
        study=str(planned.folder),
        cells=[
            {"key": key, "cell": cell.as_dict(), "state": states[key], "seconds": expected[key]}
            for key, cell in cells.items()
        ],
        left_out=list(planned.plan.left_out),
        seconds_left=seconds,
    )
