"""`tailwright train`: fit a classifier on a corpus, with or without augmentation."""

from __future__ import annotations

import json
import shlex
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import tailwright as tw
from tailwright.cli.config import Asked, read_config
from tailwright.cli.failures import going_on
from tailwright.cli.hints import predicted
from tailwright.cli.log_to import LogTo, callbacks_of
from tailwright.cli.on_cluster import check_on
from tailwright.cli.options import (
    LARGEST_SEED,
    CorpusPath,
    FilterRows,
    MaskHeads,
    On,
    OnWorkers,
    command,
    seconds_of,
)
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.errors import InputError
from tailwright.training.team import started_team
from tailwright.training.workplace import peak_rss_mb

if TYPE_CHECKING:
    from tailwright.data.corpus import Corpus
    from tailwright.runs import Run
    from tailwright.runs.choice import AutoChoice


@command
def train(
    out: Output,
    read: Reading,
    path: CorpusPath,
    out_folder: Annotated[Path, typer.Option("--out", metavar="RUN", help="The run folder to write.")],
    model: Annotated[
        str | None, typer.Option("--model", help="See `tailwright models`.", show_default="auto")
    ] = None,
    augment: Annotated[
        list[str] | None,
        typer.Option("--augment", help="See `tailwright augmenters`; `none` for none.", show_default="auto"),
    ] = None,
    filtered: FilterRows = False,
    masked: MaskHeads = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A TOML file; options go before it.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the model; OWNER.NAME=VALUE: of an augmentation, a part or a group.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Try augmentations for so long (such as 10m) before `--augment auto` chooses one.",
            show_default="a rule chooses",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=LARGEST_SEED, help="The same seed, the same run.")
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        typer.Option("--device", help="Where models that can use a GPU train; auto: on one if it is there."),
    ] = "auto",
    log_to: LogTo = None,
    continue_from: Annotated[
        Path | None,
        typer.Option(
            "--continue",
            metavar="RUN",
            help="Go on with this run, which learns from the rows of PATH too.",
            show_default="a new run",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a killed training stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace RUN if it is there.")] = False,
    on: On = None,
    workers: OnWorkers = None,
    threads: int | None = None,
) -> None:
    """Train a classifier, measure it on the test rows if there are any, and save it as a run folder.

    The log and the checkpoints of an unfinished training are in RUN.partial; `--resume` goes on from there to
    the same weights as an undisturbed training.

    Several processes or GPUs share the batches of one training under
    `torchrun --nproc-per-node 2 -m tailwright train ...`; only the first prints and writes.

    Under `--on` the workers of a Ray cluster train: trees and shards of labels of linear, the parts of a
    fusion, or the batches of a torch model. The run is the same as without.

    Example: `tailwright train data/ --out run/ --model linear --augment gandalf --set trees=3`

    Example: `tailwright train --continue run/ more.csv --out run2/`

    Example: `tailwright train shop.csv --text title,description --labels tags --out run/`
    """
    leads = started_team().leads
    if not leads:
        out = Output(out.as_json, quiet=True)
    check_on(on, workers)
    check_alone(on, continue_from)
    if continue_from is not None:
        given: dict[str, Any] = {
            "--model": model,
            "--augment": augment,
            "--filter": filtered or None,
            "--mask": masked,
        }
        given |= {"--config": config, "--set": assignments, "--budget": budget, "--seed": seed}
        refuse_with_continue([option for option, value in given.items() if value is not None])
        go_on(out, read, continue_from, path, out_folder, resume, overwrite)
        return
    asked = read_config(config) if config is not None else Asked()
    asked.model = model or asked.model
    asked.augment = augment or asked.augment
    asked.seed = asked.seed if seed is None else seed
    for assignment in assignments or []:
        asked.set(assignment)
    refiners = asked.refiners(filtered, masked)

    probing = None if budget is None else seconds_of(budget)
    if probing is not None and started_team().size > 1:
        raise InputError("--budget with several processes", expected="`tailwright advise` beforehand")
    if probing is not None and asked.augment != ["auto"]:
        raise InputError(f"--budget and --augment {' '.join(asked.augment)}", expected="--augment auto")

    callbacks = callbacks_of(log_to or []) if leads else []
    from tailwright.runs.choice import choose
    from tailwright.runs.unfinished import partial_of
    from tailwright.store.holding import holding

    unfinished = partial_of(out_folder)
    corpus = read(path, asked.seed)
    again = shlex.join(read.again(path, asked.seed)) or "PATH"
    choice = choose(corpus, asked.model, asked.augment, again)
    advice_file = out_folder.with_name(f"{out_folder.name}.advice.json")
    with ExitStack() as stack:
        stack.enter_context(going_on(partial(where, unfinished)))
        if probing is not None:
            stack.enter_context(holding(advice_file))
            choice = advised(choice, corpus, probing, asked.seed, advice_file, resume)
        choice = replace(choice, augment=(*choice.augment, *refiners))
        asked.sort_out(choice.model)
        for reason in choice.reasons:
            out.note(reason)
        start = time.perf_counter()
        arguments: dict[str, Any] = {
            "augment": choice.augment,
            "settings": asked.settings,
            "augment_settings": {**choice.augment_settings, **asked.augment_settings},
            "seed": asked.seed,
            "out": out_folder,
            "resume": resume,
            "overwrite": overwrite,
            "device": device,
            "callbacks": callbacks,
        }
        if on is None:
            run = tw.train(corpus, choice.model, **arguments)
        else:
            from tailwright.cluster.connection import connected
            from tailwright.cluster.team_training import CorpusOnDisk
            from tailwright.cluster.training import train_on

            on_disk = None if str(path) == "-" else CorpusOnDisk(path, asked.seed, read.options)
            with connected(on, workers=workers, threads=threads) as cluster:
                run = train_on(cluster, corpus, choice.model, from_disk=on_disk, **arguments)
        if leads:
            advice_file.unlink(missing_ok=True)
    if not leads:
        return
    report(out, out_folder, run, corpus, len(corpus.train), time.perf_counter() - start)


def check_alone(on: str | None, continue_from: Path | None) -> None:
    """InputError for `--on` with what it does not go with."""
    if on is not None and started_team().size > 1:
        raise InputError("--on under torchrun", expected="one of them")
    if on is not None and continue_from is not None:
        raise InputError("--continue and --on", expected="one of them")


def go_on(
    out: Output, read: Reading, run_folder: Path, path: Path, out_folder: Path, resume: bool, overwrite: bool
) -> None:
    """Let the run in a folder learn from the rows of PATH too."""
    from tailwright.runs.continuing import LaterTraining, refuse_others
    from tailwright.runs.unfinished import partial_of

    before = tw.load(run_folder)
    refuse_others(before)
    continuation = LaterTraining.of(before, read(path, before.seed))
    for note in continuation.notes:
        out.note(note)
    start = time.perf_counter()
    with going_on(partial(where, partial_of(out_folder))):
        run = continuation.train(out=out_folder, resume=resume, overwrite=overwrite)
    report(out, out_folder, run, continuation.corpus, run.train_rows, time.perf_counter() - start)


def where(unfinished: Path) -> str:
    """Where the work of a training that was stopped is, and how to go on."""
    if not unfinished.is_dir():
        return "nothing was written yet"
    return f"the work so far is in {unfinished}, and the same command with --resume goes on"


def refuse_with_continue(given: list[str]) -> None:
    """InputError for options that say what a run that goes on has said already."""
    if started_team().size > 1:
        raise InputError("--continue with several processes", expected="one")
    if given:
        raise InputError(f"--continue and {' '.join(given)}", expected="the model and settings of RUN")


def report(out: Output, out_folder: Path, run: Run, corpus: Corpus, rows: int, seconds: float) -> None:
    """Say what was trained on how many rows, how good it is on test rows, and what it took.

    `seconds` are those of training and measuring.
    """
    seconds -= 0 if run.measured is None else run.measured.seconds
    out.text(f"wrote {out_folder}: {run.name}, {rows:,} rows, {len(corpus.labels):,} labels")
    if run.tail is not None and run.tail.tail:
        out.text(f"for rare labels: predict {run.tail}")
    elif run.tail is not None:
        out.text("for rare labels: on held-out rows no --tail gains PSP@5 for at most a point of P@1")
    metrics: dict[str, Any] = {}
    if run.measured is not None and run.measured.of == "test":
        metrics = run.measured.evaluated()
        out.metrics(metrics, f"On {run.measured.rows:,} test rows, in percent:")
    out.note(f"trained in {seconds:.1f} s, peak memory {peak_rss_mb():,.0f} MB")
    to_predict = corpus.train if corpus.test is None else corpus.test
    out.next(*predicted(out_folder, to_predict.texts))
    out.result(
        model=run.name,
        augment=list(run.augment),
        run=str(out_folder),
        train_seconds=round(seconds, 3),
        peak_rss_mb=peak_rss_mb(),
        metrics=metrics,
        tail=None if run.tail is None else run.tail.model_dump(),
    )


def advised(
    choice: AutoChoice, corpus: Corpus, budget: float, seed: int, advice_file: Path, resume: bool
) -> AutoChoice:
    """The same model with the augmentation that short probes recommend.

    The recommendation stays in `advice_file` until the training is done: probes repeated after a kill might
    recommend something else, and the training could not be resumed.
    """
    from tailwright.store.whole_file import write_whole
    from tailwright.study.advise.advisor import Contender, advise

    if resume and advice_file.is_file():
        recommended = _kept_advice(advice_file)
    else:
        rule = Contender.by_rule(choice)
        advice = advise(corpus, choice.model, budget=budget, rule=rule, seed=seed)
        # Where nothing could be tried, the rule stands.
        best = advice.chosen if advice.ranking else rule
        settings = {best.method: dict(best.settings)} if best.method else {}
        reason = f"{best.name}{'' if advice.ranking else ', by rule'}: {advice.reason}"
        recommended = {"augment": list(settings), "settings": settings, "reason": reason}
        write_whole(advice_file, json.dumps(recommended).encode())
    reasons = (*choice.reasons[:-1], f"augmentation {recommended['reason']}")
    augment, settings = tuple(recommended["augment"]), recommended["settings"]
    return replace(choice, augment=augment, reasons=reasons, augment_settings=settings)


def _kept_advice(path: Path) -> dict[str, Any]:
    """What `advised` wrote; anything else is an InputError."""
    kinds = {"augment": list, "settings": dict, "reason": str}
    try:
        found = json.loads(path.read_bytes())
        if {name: type(value) for name, value in found.items()} == kinds:
            return dict(found)
    except (OSError, ValueError, AttributeError):
        pass
    expected = "what --budget recommended; remove it to probe again"
    raise InputError("found no recommendation", expected=expected, path=path)
