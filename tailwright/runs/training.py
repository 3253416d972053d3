"""`train`: augment, fit, save; killed at any moment, it can be resumed.

While a run is being trained, its log and checkpoints lie in `RUN.partial`; the run folder appears whole at
the end (`tailwright.runs.unfinished`). One process at a time trains a run, and a resumed training goes on
with the same data and settings only.

Started by torchrun, several processes train one run: each does all of this but for the steps of the training
loop, which they share, and one of them writes (`tailwright.training.team`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwright.augmentation import Augmenter, AugmenterCard, RowAugmenter, RowMethod, augmenter, augmenters
from tailwright.callbacks import Callback, Callbacks
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.inputs import ReadArguments, RowLabels, Source
from tailwright.errors import InputError
from tailwright.models import Model, models
from tailwright.models.shared.f0 import fitted_f0, makers
from tailwright.runs.asked import corpus_and_choice
from tailwright.runs.augmenting import augment as changed_rows
from tailwright.runs.augmenting import check_methods
from tailwright.runs.evaluation import measurement
from tailwright.runs.facts import AppliedAugmentation, TrainingData
from tailwright.runs.held_out import held_out_rows, learnt_from_held_out
from tailwright.runs.run import Run, load
from tailwright.runs.scoring import F0
from tailwright.runs.unfinished import finish, make_place, no_trace_of_a_mistake, partial_of
from tailwright.settings import settings_from
from tailwright.store.holding import holding
from tailwright.store.shared import shared_folder, spared_seconds
from tailwright.training.team import Team, connected, working_together
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tailwright.runs.continuing import LaterTraining
    from tailwright.training.devices import Device

log = logging.getLogger(__name__)


def train(
    data: Source,
    labels_or_model: RowLabels | str = "",
    /,
    model: str = "auto",
    *,
    augment: str | Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    augment_settings: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    watch: Mapping[str, Dataset] | None = None,
    device: Device = "auto",
    callbacks: Sequence[Callback] = (),
    measure: bool = True,
    continuation: LaterTraining | None = None,
    **reading: Unpack[ReadArguments],
) -> Run:
    """Fit a model on the training rows and on what augmentations add to them.

    `data` is whatever `tailwright.read` takes: texts with their labels in second place, a table, a path, or a
    corpus. All rows of texts and of a table are training rows; 20 % of the rows of a single file are not, but
    test rows, drawn by `seed`. What reading took, left and mended is logged as a warning.

    A string in second place is the name of a model, as `model` is: one of `tailwright models`, or `auto`,
    which chooses from the data and logs why.

    Augmentations at the rows door add their rows first, in turn; those that refine act on rows that others
    before them made. Those at the batch door change every batch that is drawn, whether its rows are original
    or added; those at the hidden door mix activations.

    | argument | |
    |---|---|
    | `augment` | one of `tailwright augmenters`, a list of them, `auto` or `none`; see below |
    | `settings` | of the model, by name |
    | `augment_settings` | of each augmentation: `{"gandalf": {"soft": False}}` |
    | `out` | the run folder to write; nothing is written without one |
    | `resume` | go on where a killed training of the same run stopped; a finished one is loaded |
    | `overwrite` | replace a run folder, or what is left of an unfinished one |
    | `watch` | datasets whose P@1 is logged after each epoch, where the model learns by epochs |
    | `device` | `auto`, `cpu` or `cuda`, for models that can use a GPU; `auto` takes one where there is one |
    | `callbacks` | told of what goes on: functions, or `TensorBoard` and `MLflow` (`tailwright.callbacks`) |
    | `measure` | evaluate on test or else on held-out rows, for the model card in `out` and for callbacks |
    | `continuation` | the run that goes on: `tailwright.continued` fills it |
    | `text`, `labels`, `label_names`, `label_texts`, ... | how data are read: see `tailwright.read` |

    Without `augment`, a model that is named learns from the rows alone, and for one that `auto` chooses the
    augmentation is chosen too.

    >>> texts = ["red shoes", "wool hat", "leather shoes", "winter hat of wool"]
    >>> run = train(texts, [["shoes"], ["hats"], ["shoes"], ["hats", "winter"]], model="linear")
    >>> run.predict(["blue shoes"], k=1).names
    [['shoes']]
    >>> train("shop.csv", text=["title", "description"], labels="tags", out="run/")    # doctest: +SKIP
    """
    told = Callbacks(callbacks)
    corpus, choice = corpus_and_choice(data, labels_or_model, model, augment, seed, reading)
    model, augment = choice.model, choice.augment
    kind = models.get(model)
    fitted = kind(settings_from(kind.Settings, settings or {}))
    of_each = {**choice.augment_settings, **(augment_settings or {})}
    for name in augment:
        check_door(model, augmenters.card(name))
    methods = {name: augmenter(name, of_each.get(name)) for name in [*augment, *of_each]}
    check_methods([methods[name] for name in augment], corpus)
    if device == "cuda":
        from tailwright.training.devices import device_of

        device_of(device)
    fitted.device, fitted.watch = device, watch or {}
    fitted.mixes = [methods[name] for name in augment if not isinstance(methods[name], RowMethod)]
    learnt_from = TrainingData(path=corpus.source, digest=corpus.digest())
    asked = _asked(fitted, [methods[name] for name in augment], seed, learnt_from.digest)
    if continuation is not None:
        asked |= continuation.fingerprint
    with connected() as team, ExitStack() as stack:
        if team.size > 1 and "+" in model:
            started = f"{team.size} processes for {model}"
            raise InputError(started, expected="one: the parts of a fusion are trained by a single process")
        if out is not None and team.leads:
            stack.enter_context(holding(partial_of(Path(out))))
        if out is not None and resume and (saved := _saved(Path(out), asked, continuation)) is not None:
            log.warning("%s is finished already; nothing is trained", out)
            if team.leads:
                finish(Path(out))
            if measure and saved.measured is None:
                saved = replace(saved, measured=measurement(saved, corpus.test, None))
            return saved
        told = told if team.leads else Callbacks()
        work = (
            Workplace(callbacks=told)
            if out is None
            else _workplace(Path(out), asked, resume, overwrite, team, told)
        )
        if out is not None and team.leads:
            stack.enter_context(no_trace_of_a_mistake(partial_of(Path(out))))
        stack.enter_context(_told_of_both_ends(work, fitted, {name: methods[name] for name in augment}, seed))
        spared = spared_seconds()
        adding = [name for name in augment if isinstance(methods[name], RowAugmenter)]
        f0 = _f0_of(fitted, {*adding, *makers(corpus.train)}, seed, work, team)
        applied = []
        for name in augment:
            method, rows = methods[name], len(corpus.train)
            if isinstance(method, RowMethod):
                with work.phase(name):
                    corpus = changed_rows(corpus, method, seed=seed, work=work, f0=f0)
            added = len(corpus.train) - rows
            applied.append(AppliedAugmentation(name=name, settings=asdict(method.settings), rows=added))
        facts = {"model": model, "rows": len(corpus.train), "labels": len(corpus.labels)}
        fit = fitted.fit if continuation is None else partial(continuation.fit, fitted)
        with work.phase("fit", **facts), working_together(team):
            fit(corpus, seed=seed, work=work)
        held_out = held_out_rows(fitted, corpus, work) if team.leads else None
        calibration, tail = learnt_from_held_out(fitted, held_out)
        if shared_folder() is not None:
            work.log("shared", spared_seconds=round(spared_seconds() - spared, 3))
        run = Run(
            fitted,
            corpus.labels,
            len(corpus.train.originals()),
            seed,
            tuple(applied),
            corpus.labels.counts + _made_counts(corpus.train),
            corpus.fraction,
            learnt_from,
            calibration=calibration,
            tail=tail,
        )
        if continuation is not None:
            run = continuation.recorded(run)
        if measure and team.leads and (out is not None or told):
            run = replace(run, measured=measurement(run, corpus.test, held_out))
        if run.measured is not None:
            found = run.measured
            metrics = found.evaluated()
            work.log("metrics", of=found.of, rows=found.rows, metrics=metrics, watch_seconds=found.seconds)
        if out is not None and team.leads:
            run.save(out, overwrite=overwrite)
            finish(Path(out))
        team.wait()  # whoever goes on may look for the run
    return run


@contextmanager
def _told_of_both_ends(
    work: Workplace, model: Model, methods: Mapping[str, Augmenter], seed: int
) -> Iterator[None]:
    """Tell callbacks what is trained and how it ends; the log has the phases in between."""
    augment = {name: asdict(method.settings) for name, method in methods.items()}
    name, settings = model.card.name, asdict(model.settings)
    work.tell("training", model=name, settings=settings, augment=augment, seed=seed)
    try:
        yield
    except BaseException as error:
        work.tell("failed", problem=f"{type(error).__name__}: {error}")
        raise
    work.tell("finished")


def _f0_of(model: Model, made_by: set[str], seed: int, work: Workplace, team: Team) -> F0 | None:
    """What fits the f0 of a model and hands it over, when it is first asked for; None if it has none."""
    unfitted = model.f0_for(made_by)
    if unfitted is None:
        return None

    def f0(corpus: Corpus) -> Model:
        if model.f0 is None:
            with working_together(team):
                model.f0 = fitted_f0(unfitted, corpus, seed=seed, work=work)
        return model.f0

    return f0


def _made_counts(train: Dataset) -> np.ndarray:
    """(labels,) float64: by label, the targets of made rows that give a loss, times their weights."""
    return train.take(np.flatnonzero(~train.origin.is_original())).weighted_counts()


def check_door(model: str, method: AugmenterCard) -> None:
    """Refuse a model without the door that an augmentation needs, and name those that have it."""
    if models.card(model).takes(method):
        return
    able = [name for name in models.names() if models.card(name).takes(method)]
    points = f", at {' or '.join(method.mix_points)}" if method.mix_points else ""
    refusal = f"{model} cannot be trained with {method.name}, which enters at {method.entrance}{points}"
    raise InputError(f"{refusal}; {method.name} works with: {', '.join(able)}")


def _asked(model: Model, methods: Sequence[Augmenter], seed: int, digest: str) -> dict[str, Any]:
    """A fingerprint of what is to be trained, so that a resumed training does not go on with another."""
    return {
        "model": model.card.name,
        "settings": repr(model.settings),
        "augment": [[method.card.name, repr(method.settings)] for method in methods],
        "seed": seed,
        "data": digest,
    }


def _saved(out: Path, asked: dict[str, Any], continuation: LaterTraining | None) -> Run | None:
    """The run in a folder, if it is what was asked for: its training was killed after it was saved."""
    try:
        run = load(out)
    except InputError:
        return None  # of another kind, or damaged: whether it may be replaced is for others to say
    digest = run.data.digest
    if continuation is not None and continuation.has_made(run):
        digest = asked["data"]
    elif run.later or continuation is not None:
        return None
    methods = [augmenter(applied.name, applied.settings) for applied in run.augmentations]
    return run if _asked(run.model, methods, run.seed, digest).items() <= asked.items() else None


def _workplace(
    out: Path, asked: dict[str, Any], resume: bool, overwrite: bool, team: Team, told: Callbacks
) -> Workplace:
    """The place beside the run folder, made by the leader of the team while the others wait."""
    if team.leads:
        make_place(out, asked, resume, overwrite)
    team.wait()
    return Workplace(partial_of(out), resume=resume, writes=team.leads, callbacks=told)
