"""`tailwright augment`: a corpus with the rows that augmentations add, for this or any other trainer."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tailwright as tw
from tailwright.augmentation import Forecast, RowAugmenter, RowMethod, row_augmenter
from tailwright.cli.config import Asked
from tailwright.cli.failures import going_on
from tailwright.cli.hints import free_name, trained_on
from tailwright.cli.on_cluster import check_on, working_on
from tailwright.cli.options import CorpusPath, FilterRows, MaskHeads, On, OnWorkers, Seed, command
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.errors import InputError
from tailwright.study.run.display import in_words

if TYPE_CHECKING:
    from tailwright.data.corpus import Corpus


@command
def augment(
    out: Output,
    read: Reading,
    path: CorpusPath,
    added: Annotated[
        list[str] | None,
        typer.Option(
            "--augment",
            "--method",
            help="See `tailwright augmenters`; several act in turn. `--method` is the same option.",
            show_default=False,
        ),
    ] = None,
    filtered: FilterRows = False,
    masked: MaskHeads = None,
    target: Annotated[
        Path | None, typer.Option("--out", metavar="OUT", help="The folder to write.", show_default=False)
    ] = None,
    to: Annotated[str, typer.Option("--format", help="As in `tailwright data convert`.")] = "jsonl.gz",
    binarise: Annotated[
        float | None,
        typer.Option("--binarise", help="Make soft labels of at least this value hard, and drop the others."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="METHOD.NAME=VALUE", help="A setting of an augmentation."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it is there.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only forecast rows, time, memory and disk; OUT is not written.")
    ] = False,
    seed: Seed = 0,
    on: On = None,
    workers: OnWorkers = None,
    threads: int | None = None,
) -> None:
    """Add training rows and write the corpus; validation and test rows stay as they are.

    Only methods at the rows door (new training rows) add rows; those at the other doors, which `tailwright
    augmenters` explains, work during `tailwright train`.

    With `--binarise 0.5` a trainer that takes only hard labels can read the result.

    Methods act in turn: `filter` and `mask` act on what those before them made, or on rows that an earlier
    `tailwright augment` has written into PATH.

    Methods that write texts with a language model take long: `--dry-run` measures a few steps and says how
    long. Their work is kept, so after a kill the same command continues.

    With `--on` the workers of a Ray cluster edit rows (`eda`, `wordnet`), write texts (`gda`, `xda`, whose
    language model learns here) and score rows (`filter`, whose classifier learns here). The rows are those
    of one process. `gandalf` and `calibrated-gandalf`, which need a graph over all labels, and `mask`, which
    takes a moment, work here.

    Example: `tailwright augment data/ --augment gandalf --out data2/ --format xc --binarise 0.5`
    """
    check_on(on, workers)
    asked = Asked()
    for assignment in assignments or []:
        asked.set(assignment)
    methods = [*(added or []), *asked.refiners(filtered, masked)]

    from tailwright.data.write import check_format, check_place
    from tailwright.runs.augmenting import check_methods

    if not methods:
        raise InputError("found no --augment", expected="one of `tailwright augmenters`")
    if asked.settings:
        raise InputError(f"--set {next(iter(asked.settings))}", expected="METHOD.NAME=VALUE")
    if target is None and not dry_run:
        raise InputError("found no --out", expected="a folder to write, or --dry-run")
    if binarise is not None and not 0 < binarise <= 1:
        raise InputError(f"--binarise {binarise:g}", expected="a number above 0, up to 1")
    check_format(to)
    if target is not None and not dry_run:
        check_place(target, overwrite)
    augmenters = [row_augmenter(method, asked.augment_settings.get(method)) for method in methods]
    corpus = read.all_rows(path, seed)
    check_methods(augmenters, corpus)
    if target is None or dry_run:
        _forecast(out, corpus, augmenters, seed)
        if words := read.again(path, seed):
            asked_for = [word for method in methods for word in ("--augment", method)]
            asked_for += [word for assignment in assignments or [] for word in ("--set", assignment)]
            asked_for += [word for value in masked or [] if value for word in ("--set", f"mask.{value}")]
            asked_for += ["--format", to] if to != "jsonl.gz" else []
            asked_for += ["--binarise", f"{binarise:g}"] if binarise is not None else []
            out.next("augment", *words, *asked_for, "--out", str(target or free_name("augmented")))
        return
    rows_in = len(corpus.train)
    with going_on(_kept), working_on(on, workers, threads) as cluster:
        start = time.perf_counter()
        for augmenter in augmenters:
            corpus = tw.augment(corpus, augmenter, seed=seed)
        if binarise is not None:
            corpus = corpus.with_train(corpus.train.binarised(binarise))
        seconds = time.perf_counter() - start
    report = write_rows(out, corpus, target, rows_in, to, overwrite)
    out.next(*trained_on([str(target)], "--augment", "none"))
    out.result(**report, method=methods, seconds=round(seconds, 3), **cluster)


def _kept() -> str:
    """What is left of the work when it is stopped, and how to go on."""
    from tailwright.language.work import work_folders

    folder = work_folders()
    kept = f"; texts that a language model wrote are kept in {folder}" if folder.is_dir() else ""
    return f"no corpus was written{kept}, and the same command goes on"


def write_rows(
    out: Output, corpus: Corpus, target: Path, rows_in: int, to: str, overwrite: bool
) -> dict[str, Any]:
    """Write an augmented corpus, say what came of it, and give what a result says of it."""
    report = tw.write(corpus, target, format=to, overwrite=overwrite)
    if report.lost:
        out.note(f"the format {report.format} cannot carry: {', '.join(report.lost)}")
    rows_out = len(corpus.train)
    out.text(f"wrote {target} as {report.format}: {rows_in:,} rows became {rows_out:,}")
    return {
        "path": str(target),
        "format": report.format,
        "rows_in": rows_in,
        "rows_out": rows_out,
        "lost": list(report.lost),
    }


def _forecast(out: Output, corpus: Corpus, methods: list[RowMethod], seed: int) -> None:
    """Say what each method will take; those that add rows start from original ones, so none needs another."""
    import numba

    forecasts = {}
    for method in methods:
        name = method.card.name
        if not isinstance(method, RowAugmenter):
            out.text(f"{name}: adds no rows, and acts on those that are made; not forecast")
            continue
        if method.settings.weight:
            forecast = method.forecast(corpus.weighed(), seed=seed, workers=numba.get_num_threads())
        else:
            forecast = Forecast(0, 0, 0.0, 0.0, 0.0, ("weight is 0: no rows are added",))
        hours = forecast.machine_hours
        out.text(f"{name}: at most {forecast.rows:,} new rows from {forecast.sources:,} sources")
        out.text(f"  about {in_words(forecast.seconds)} on this machine ({hours:.2g} machine-hours)")
        out.text(f"  about {forecast.memory_mb:,.0f} MB of memory, {forecast.disk_mb:,.1f} MB of disk")
        for line in forecast.lines:
            out.text(f"  {line}")
        forecasts[name] = {**asdict(forecast), "machine_hours": hours}
    out.result(rows_in=len(corpus.train), forecast=forecasts)
