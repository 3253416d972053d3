"""`tried`: what happens in one cell, from the corpus to its outcome.

After a kill a training resumes from its checkpoint, a search with the value that was being tried. Validation
rows are held out and a share of the rest is taken by seed 0 whatever the cell's seed, so that all cells of a
dataset and fraction see the same rows. The test rows are ranked once.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tailwright.augmentation import augmenter
from tailwright.code_version import code_version
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.runs.augmenting import scorers_of
from tailwright.runs.ensemble import Ensemble
from tailwright.runs.evaluation import evaluate, measured, ranked
from tailwright.runs.run import Run, load
from tailwright.runs.scoring import model_of
from tailwright.runs.training import train
from tailwright.runs.unfinished import finish
from tailwright.store.whole_file import write_whole
from tailwright.streams import stream
from tailwright.study.plan.cells import Cell, choice_name, choices, chosen
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Made, Outcome, is_finished, judged, load_outcome
from tailwright.training.workplace import peak_rss_mb

WATCHED_ROWS = 2000


def key_of(cell: Cell, corpus: Corpus) -> str:
    """The name of the cell's folder: a digest of the cell, its data and the code it runs."""
    return made_of(cell, corpus).key


def made_of(cell: Cell, corpus: Corpus) -> Made:
    """The cell's key with what goes into it."""
    data, code = corpus.digest(), code_of(cell)
    return Made(cell.key(data, code), data, code)


def code_of(cell: Cell) -> str:
    """The version of the code that can change a cell's outcome."""
    kinds: list[type] = [*models.kinds(cell.model)]
    for member in (cell, *cell.ensemble):
        for choice in choices(member):
            settings = chosen(member, choice).augment_settings
            for method in [augmenter(name, settings.get(name)) for name in member.augment]:
                kinds.append(type(method))
                for scorer in scorers_of(method):
                    kinds += models.kinds(model_of(scorer))
    return code_version([__name__, *(kind.__module__ for kind in kinds)])


def tried(cell: Cell, key: str, exam: Exam, folder: Path, *, curves: bool = False) -> Outcome:
    """Train and judge the cell, with everything that must survive a kill kept in `folder`.

    `curves` also judges some training and test rows after each epoch, for the log alone.
    """
    if cell.ensemble:
        return _answering_together(cell, key, exam, folder)
    corpus = rows_of(cell, exam.corpus)
    watch = watched(corpus, exam.test) if curves else None
    searched: dict[str, float] = {}
    choice: Mapping[str, Any] = {}
    if cell.search:
        searched, choice = _searched(cell, corpus, folder, watch)
    run = _trained(chosen(cell, choice), corpus, folder / "run", watch)
    outcome = judged(run, folder / "run", cell, key, exam.test)
    peak = max(peak_rss_mb(), outcome.peak_rss_mb)  # an earlier process may have trained the run
    return replace(outcome, peak_rss_mb=peak, searched=searched, chosen=dict(choice), folder=folder)


def _answering_together(cell: Cell, key: str, exam: Exam, folder: Path) -> Outcome:
    """What the runs of finished cells give as an ensemble; it cost what they cost together."""
    places = [folder.parent / key_of(member, exam.corpus) for member in cell.ensemble]
    for member, place in zip(cell.ensemble, places, strict=True):
        if not is_finished(place):
            raise InputError(f"{member.title} is not finished", expected="all cells of an ensemble")
    members = [load_outcome(place) for place in places]
    for outcome in members:
        if outcome.taken:
            problem = f"{outcome.cell.title} was taken in without its run"
            raise InputError(problem, expected="a trained run of each cell of an ensemble (--anew)")
    ensemble = Ensemble(tuple(load(place / "run") for place in places))
    start = time.perf_counter()
    top = ranked(ensemble, exam.test)
    seconds = time.perf_counter() - start
    return Outcome(
        cell=cell,
        key=key,
        metrics=measured(ensemble, top, exam.test),
        top=top.ids,
        counts=ensemble.labels.counts,
        augmented_counts=np.mean([member.augmented_counts for member in members], axis=0),
        train_seconds=round(sum(member.train_seconds for member in members), 3),
        predict_seconds=round(seconds, 3),
        peak_rss_mb=max(peak_rss_mb(), *(member.peak_rss_mb for member in members)),
        n_train=ensemble.train_rows,
        n_augmented=max(member.n_augmented for member in members),
        folder=folder,
    )


def rows_of(cell: Cell, corpus: Corpus) -> Corpus:
    """The rows that the cell trains on: validation rows held out first, then a share of the rest."""
    held_out = corpus.split(cell.valid, seed=0) if cell.valid else corpus
    return held_out.sample(cell.fraction, seed=0)


def watched(corpus: Corpus, test: Dataset) -> dict[str, Dataset]:
    """Some training and some test rows, the same for every cell over these rows."""
    return {
        name: rows.take(np.sort(stream(0, f"watch {name}").permutation(len(rows))[:WATCHED_ROWS]))
        for name, rows in {"train": corpus.train, "test": test}.items()
    }


def _trained(cell: Cell, corpus: Corpus, out: Path, watch: Mapping[str, Dataset] | None) -> Run:
    """The cell's run: loaded if it is complete, else trained or resumed."""
    if (out / "manifest.json").is_file():
        finish(out)
        return load(out)
    return train(
        corpus,
        cell.model,
        augment=cell.augment,
        settings=cell.settings,
        augment_settings=cell.augment_settings,
        seed=cell.seed,
        out=out,
        resume=True,
        watch=watch,
        measure=False,  # `judged` ranks the test rows
    )


def _searched(
    cell: Cell, corpus: Corpus, folder: Path, watch: Mapping[str, Dataset] | None
) -> tuple[dict[str, float], dict[str, Any]]:
    """Every choice with its metric on validation rows, and the best one, whose run becomes the cell's.

    Of equal choices the first wins.
    """
    assert corpus.valid is not None  # a cell that searches holds validation rows out
    metrics: dict[str, float] = {}
    places: list[tuple[dict[str, Any], Path]] = []
    for number, choice in enumerate(choices(cell)):
        place = folder / "search" / str(number)
        places.append((choice, place))
        metric_file = place / "judged.json"
        if not metric_file.is_file():
            run = _trained(chosen(cell, choice), corpus, place / "run", watch)
            value = evaluate(run, corpus.valid)[cell.search_metric]
            write_whole(metric_file, json.dumps(value).encode())
        metrics[choice_name(choice)] = float(json.loads(metric_file.read_text(encoding="utf-8")))
    best, place = max(places, key=lambda tried: metrics[choice_name(tried[0])])
    if not (folder / "run").exists():
        (place / "run").rename(folder / "run")
    for _, other in places:
        shutil.rmtree(other / "run", ignore_errors=True)
    return metrics, best
