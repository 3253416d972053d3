"""`tailwright train`: fit a classifier on a corpus, with or without augmentation."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import tailwright as tw
from tailwright.cli.config import Asked, read_config
from tailwright.cli.hints import predicted
from tailwright.cli.options import CorpusPath, FilterRows, MaskHeads, command, seconds_of
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.errors import InputError
from tailwright.training.team import started_team
from tailwright.training.workplace import peak_rss_mb

if TYPE_CHECKING:
    from tailwright.data.corpus import Corpus
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
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="The same seed, the same run.")] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        typer.Option("--device", help="Where models that can use a GPU train; auto: on one if it is there."),
    ] = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a killed training stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace RUN if it is there.")] = False,
) -> None:
    """Train a classifier, save it as a run folder, and measure it on the test rows if there are any.

    The log and the checkpoints of an unfinished training are in RUN.partial; `--resume` goes on from there to
    the same weights as an undisturbed training.

    Several processes or GPUs share the batches of one training under
    `torchrun --nproc-per-node 2 -m tailwright train ...`; only the first prints and writes.

    Example: `tailwright train data/ --out run/ --model linear --augment gandalf --set trees=3`

    Example: `tailwright train shop.csv --text title,description --labels tags --out run/`
    """
    leads = started_team().leads
    if not leads:
        out = Output(out.as_json, quiet=True)
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

    from tailwright.runs.choice import choose

    corpus = read(path, asked.seed)
    choice = choose(corpus, asked.model, asked.augment)
    advice_file = out_folder.with_name(f"{out_folder.name}.advice.json")
    if probing is not None:
        choice = advised(choice, corpus, probing, asked.seed, advice_file, resume)
    choice = replace(choice, augment=(*choice.augment, *refiners))
    asked.sort_out(choice.model)
    for reason in choice.reasons:
        out.note(reason)
    start = time.perf_counter()
    run = tw.train(
        corpus,
        choice.model,
        augment=choice.augment,
        settings=asked.settings,
        augment_settings={**choice.augment_settings, **asked.augment_settings},
        seed=asked.seed,
        out=out_folder,
        resume=resume,
        overwrite=overwrite,
        device=device,
    )
    if not leads:
        return
    seconds = time.perf_counter() - start
    advice_file.unlink(missing_ok=True)
    out.text(f"wrote {out_folder}: {choice.model}, {len(corpus.train):,} rows, {len(corpus.labels):,} labels")
    if run.tail is not None and run.tail.tail:
        out.text(f"for rare labels: predict {run.tail}")
    elif run.tail is not None:
        out.text("for rare labels: on held-out rows no --tail gains PSP@5 for at most a point of P@1")
    metrics: dict[str, Any] = {}
    if corpus.test is not None:
        metrics = tw.evaluate(run, corpus.test)
        out.metrics(metrics, f"On {len(corpus.test):,} test rows, in percent:")
    out.note(f"trained in {seconds:.1f} s, peak memory {peak_rss_mb():,.0f} MB")
    out.next(*predicted(out_folder, corpus.test if corpus.test is not None else corpus.train))
    out.result(
        model=choice.model,
        augment=list(choice.augment),
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
    from tailwright.store.errors import errors_of_writing
    from tailwright.study.advise.advisor import advise

    if resume and advice_file.is_file():
        recommended = json.loads(advice_file.read_text(encoding="utf-8"))
    else:
        advice = advise(corpus, choice.model, budget=budget, seed=seed)
        best = advice.chosen
        settings = {best.method: dict(best.settings)} if best.method else {}
        reason = f"{best.name}: {advice.reason}"
        recommended = {"augment": list(settings), "settings": settings, "reason": reason}
        with errors_of_writing(advice_file):
            advice_file.write_text(json.dumps(recommended), encoding="utf-8")
    reasons = (*choice.reasons[:-1], f"augmentation {recommended['reason']}")
    augment, settings = tuple(recommended["augment"]), recommended["settings"]
    return replace(choice, augment=augment, reasons=reasons, augment_settings=settings)
