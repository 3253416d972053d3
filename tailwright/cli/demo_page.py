"""The demo as one HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tailwright.cli.demo import ABOUT, CAVEAT, NEXT
from tailwright.cli.demo_story import (
    AGAINST,
    AUGMENTED,
    COLUMNS,
    DEFAULT,
    GAIN_AT,
    MODELS,
    SLICE_COLUMNS,
    Comparison,
    Trial,
    by_frequency,
    overall,
    slices_with_rows,
)
from tailwright.cli.inspect import SPLIT_HEADER, label_rows, rank_plot, split_rows
from tailwright.data.corpus import Corpus
from tailwright.data.inspect import CorpusReport
from tailwright.study.page.html import render
from tailwright.study.page.svg import Plot, bars
from tailwright.study.report.headline import PSP, found_by_slice, joined


def demo_page(
    corpus: Corpus,
    report: CorpusReport,
    trials: Mapping[str, Trial],
    comparison: Comparison,
    seconds: Mapping[str, float],
    *,
    size: int,
    seed: int,
) -> str:
    """The demo as one HTML page."""
    of_slices = [(name, column) for name in slices_with_rows(trials) for column in SLICE_COLUMNS]
    return render(
        __package__,
        "demo.html.j2",
        title="Tailwright demo: rare labels with and without augmentation",
        lead=lead(trials, comparison),
        summary=comparison.sentence(),
        psp=PSP,
        about=ABOUT,
        caveat=CAVEAT,
        split_header=SPLIT_HEADER,
        splits=split_rows(report),
        labels=[["labels", f"{report.labels.labels:,}"], *label_rows(report)],
        rank_plot=rank_plot(corpus.labels.counts),
        test_rows=report.splits["test"].rows,
        overall=_table(COLUMNS, {name: [t.metrics[c] for c in COLUMNS] for name, t in trials.items()}),
        by_slice=_table(
            [" ".join(one) for one in of_slices],
            {name: [t.metrics["slices"][of][c] for of, c in of_slices] for name, t in trials.items()},
        ),
        best_sentences=[overall(trials), *(by_frequency(trials, column) for column in SLICE_COLUMNS)],
        default=f"{DEFAULT} is {trials[DEFAULT].model}",
        dial=trials[DEFAULT].dial,
        slices=slices_with_rows(trials),
        metric=f"R@{GAIN_AT}",
        against=AGAINST,
        gain_plot=gain_plot(comparison),
        recall_plot=recall_plot(trials),
        comparison=comparison,
        command=f"tailwright demo --size {size} --seed {seed}",
        next=list(NEXT.items()),
        script=_script(size, seed),
        settings=[[name, json.dumps(model.get("augment_settings", {}))] for name, model in MODELS.items()],
        seconds=[[name, f"{taken:.1f}"] for name, taken in seconds.items()],
    )


def lead(trials: Mapping[str, Trial], comparison: Comparison) -> str:
    """How many rare and frequent labels are found with augmentation, and how many were without."""
    metric = f"R@{GAIN_AT}"
    slices = trials[AUGMENTED].metrics["slices"]
    now = {name: slices[name][metric] for name in slices_with_rows(trials)}
    now["all"] = trials[AUGMENTED].metrics[metric]
    phrases = found_by_slice(now, comparison.by_slice)
    return joined(f"The first {GAIN_AT} labels of {AGAINST}", phrases) if phrases else ""


def _table(
    columns: Sequence[str], values: Mapping[str, Sequence[float]]
) -> tuple[list[str], list[list[str]], set[tuple[int, int]]]:
    """Header, rows and the places of the best values of a column; a model is a row."""
    rows = [[name, *(f"{value:.2f}" for value in of_model)] for name, of_model in values.items()]
    best = {
        (row, column)
        for column in range(1, len(columns) + 1)
        for row in range(len(rows))
        if rows[row][column] == max((cells[column] for cells in rows), key=float)
    }
    return ["model", *columns], rows, best


def gain_plot(comparison: Comparison) -> Plot:
    """What augmentation gained or lost, by label frequency."""
    gains = comparison.by_bucket.values()
    return bars(
        list(comparison.by_bucket),
        {AGAINST: [None if gain is None else gain.mean for gain in gains]},
        title=f"R@{GAIN_AT} gained by augmentation, by training rows of a label",
        description="Bars below zero are losses. Lines are 95 % intervals over the test rows.",
        x_label="training rows of the label",
        y_label=f"points of R@{GAIN_AT}",
        intervals={AGAINST: [None if gain is None else (gain.low, gain.high) for gain in gains]},
        # A model has the same colour in both bar plots.
        first_colour=list(MODELS).index(AUGMENTED),
    )


def recall_plot(trials: Mapping[str, Trial]) -> Plot:
    """How much each model finds, by label frequency."""
    return bars(
        list(next(iter(trials.values())).by_bucket),
        {name: list(trial.by_bucket.values()) for name, trial in trials.items()},
        title=f"R@{GAIN_AT} of all models, by training rows of a label",
        description="popularity and label-matcher are floors.",
        x_label="training rows of the label",
        y_label=f"R@{GAIN_AT}, percent",
    )


def _script(size: int, seed: int) -> list[str]:
    """Python that trains `linear` with augmentation once more."""
    model = MODELS[AUGMENTED]
    return [
        "import tailwright as tw",
        f"corpus = tw.demo_corpus(size={size}, seed={seed})",
        f'run = tw.train(corpus, "{model["model"]}", seed={seed},',
        f"               augment={model['augment']}, augment_settings={model['augment_settings']})",
        'print(tw.evaluate(run, corpus.test)["R@10"])',
    ]
