"""`continued`: a run that goes on learning from rows that came later, with labels that came with them.

Labels keep their places, new ones are appended. A model that learns from the new rows alone (twin) needs
nothing else. One that needs the old rows too (linear) gets them from where the run read them, if they are
still there as they were: a run folder has no rows. Counts, and with them propensities, are of old and new
original rows. `docs/growing.md` has what it saves and what it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, Origin
from tailwright.data.read import read
from tailwright.data.relabelling import matched_columns, over_labels, together
from tailwright.errors import InputError
from tailwright.models import LaterRows, Model, models
from tailwright.runs.facts import LaterStep, TrainingData
from tailwright.runs.run import Run
from tailwright.runs.training import train
from tailwright.training.workplace import Workplace


def continued(
    run: Run, more: Corpus, *, out: str | Path | None = None, resume: bool = False, overwrite: bool = False
) -> Run:
    """The run after it has learnt from the training rows of `more` too.

    Model, settings, augmentations and seed are those of the run. `out`, `resume` and `overwrite` are as in
    `train`.

    >>> continued(tw.load("run/"), tw.read("more.csv"), out="run2/")    # doctest: +SKIP
    """
    return LaterTraining.of(run, more).train(out=out, resume=resume, overwrite=overwrite)


@dataclass(frozen=True, eq=False)
class LaterTraining:
    """What a run goes on with: all rows that its model needs, over all labels."""

    run: Run
    corpus: Corpus
    starts: tuple[int, ...]  # as in `LaterRows`
    step: LaterStep
    notes: tuple[str, ...]

    @staticmethod
    def of(run: Run, more: Corpus) -> LaterTraining:
        """Everything found and checked before any work; what is wrong is an InputError."""
        refuse_others(run)
        old = rows_learnt_from(run) if run.model.card.continues == "all rows" else []
        try:
            labels, columns = together(run.labels, more.labels)
        except InputError as error:
            raise InputError(error.found, expected=error.expected, path=more.source or None) from None
        known = [over_labels(c, labels, matched_columns(run.labels, c.labels)) for c in old]
        corpus, starts = joined([*known, over_labels(more, labels, columns)])
        rows = len(more.train.originals())
        step = LaterStep(
            kind="rows",
            run=run.source,
            data=TrainingData(path=more.source, digest=more.digest()),
            rows_before=run.train_rows,
            rows_after=run.train_rows + rows,
            labels_before=len(run.labels),
            labels_after=len(labels),
        )
        new = len(labels) - len(run.labels)
        notes = [f"{run.name}: {run.train_rows:,} rows and {rows:,} new ones, {new:,} of the labels are new"]
        changed = _changed_texts(run, more, columns)
        if changed:
            notes.append(f"labels that have another text here and keep the run's: {changed:,}")
        return LaterTraining(run, corpus, starts, step, tuple(notes))

    def train(self, *, out: str | Path | None, resume: bool = False, overwrite: bool = False) -> Run:
        """Train, and save as `out`."""
        run = self.run
        return train(
            self.corpus,
            run.name,
            augment=run.augment,
            settings=asdict(run.model.settings),
            augment_settings={applied.name: applied.settings for applied in run.augmentations},
            seed=run.seed,
            out=out,
            resume=resume,
            overwrite=overwrite,
            continuation=self,
        )

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """What keeps a resumed training from going on with another one."""
        before = [self.run.data, *(step.data for step in self.run.later)]
        return {"continues": [data.digest or data.path for data in before]}

    def has_made(self, run: Run) -> bool:
        """Whether a run learnt from the same rows, in the same order."""
        steps = [run.data, *(step.data for step in run.later)]
        return [data.digest or data.path for data in steps] == [
            *self.fingerprint["continues"],
            self.step.data.digest,
        ]

    def fit(self, model: Model, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        """Fit a model to the corpus as augmentations left it, from what the model of the run knows."""
        model.fit_more(self.run.model, LaterRows(corpus, self.starts), seed=seed, work=work)

    def recorded(self, fitted: Run) -> Run:
        """The trained run with what went before: rows, counts, and the calibration where it has no other."""
        run = self.run
        fitted = replace(fitted, data=run.data, fraction=run.fraction, later=(*run.later, self.step))
        if fitted.calibration is None:
            fitted = replace(fitted, calibration=run.calibration, tail=run.tail)
        if run.model.card.continues == "all rows":
            return fitted
        added = len(fitted.labels) - len(run.labels)
        counts = fitted.labels.counts + np.pad(run.labels.counts, (0, added))
        applied = [
            after.model_copy(update={"rows": before.rows + after.rows})
            for before, after in zip(run.augmentations, fitted.augmentations, strict=True)
        ]
        return replace(
            fitted,
            labels=fitted.labels.with_counts(counts),
            train_rows=self.step.rows_after,
            augmentations=tuple(applied),
            augmented_counts=fitted.augmented_counts + np.pad(run.augmented_counts, (0, added)),
        )


def refuse_others(run: Run) -> None:
    """InputError for a model that cannot go on learning; it names those that can."""
    if run.model.card.continues:
        return
    able = [name for name in models.names() if models.card(name).continues]
    raise InputError(
        f"{run.name} cannot go on learning from more rows",
        expected=f"a run of {', '.join(able)}, or training anew on all rows",
    )


def rows_learnt_from(run: Run) -> list[Corpus]:
    """The corpora that a run has learnt from, first to last, read again and found to be the same."""
    anew = "or training anew on all rows"
    if run.fraction < 1:
        raise InputError(f"a run of a sample of its rows ({run.fraction:g})", expected=f"one of all, {anew}")
    found = []
    for data in (run.data, *(step.data for step in run.later if step.kind == "rows")):
        if not data.path:
            rows = f"a run of rows that were not read from a file, which {run.name} needs beside the new ones"
            raise InputError(rows, expected=f"a run of files, {anew}")
        try:
            corpus = read(data.path)
        except InputError as error:
            old = f"the old rows, which {run.name} needs beside the new ones, cannot be read ({error.found})"
            raise InputError(old, expected=f"them where they were, {anew}", path=data.path) from error
        if corpus.digest() != data.digest:
            old = f"other rows than the run was trained on, which {run.name} needs beside the new ones"
            raise InputError(old, expected=f"them as they were, {anew}", path=data.path)
        found.append(corpus)
    return found


def joined(corpora: Sequence[Corpus]) -> tuple[Corpus, tuple[int, ...]]:
    """One corpus over the same labels, and where the rows of each but the first start by their origin.

    With a single corpus, all its rows are new.
    """
    firsts, splits = [0], dict[str, list[Dataset]]()
    for corpus in corpora:
        for name, rows in corpus.splits().items():
            splits.setdefault(name, []).append(_numbered_from(rows, firsts[-1]))
        firsts.append(firsts[-1] + int(corpus.train.origin.rows.max(initial=-1)) + 1)
    try:
        whole = {name: Dataset.concat(parts) for name, parts in splits.items()}
    except ValueError as error:  # label weights of made rows
        raise InputError(f"old and new rows in which {error}", expected="the same") from error
    starts = tuple(firsts[1:-1]) or (0,)
    return Corpus.of_splits(corpora[-1].labels, whole), starts


def _numbered_from(rows: Dataset, first: int) -> Dataset:
    origin = rows.origin
    return replace(rows, origin=Origin(origin.rows + first, origin.codes, origin.methods))


def _changed_texts(run: Run, more: Corpus, columns: np.ndarray) -> int:
    """How many labels have another text in `more` than in the run; one without a text has no other."""
    known, texts = run.labels.texts.to_pylist(), more.labels.texts.to_pylist()
    pairs = zip(
        columns.tolist(), texts, more.labels.ids.to_pylist(), more.labels.names.to_pylist(), strict=True
    )
    return sum(
        column < len(known) and text not in ("", known[column], label, name)
        for column, text, label, name in pairs
    )
