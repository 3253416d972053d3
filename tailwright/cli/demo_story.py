"""What the demo measures, four models on one corpus with and without augmentation, and its HTML page."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tailwright as tw
from tailwright.cli.demo import ABOUT, CAVEAT, COLUMNS, SLICE_COLUMNS, slices_with_rows
from tailwright.cli.inspect import SPLIT_HEADER, label_rows, rank_plot, split_rows
from tailwright.data.corpus import Corpus
from tailwright.data.inspect import CorpusReport
from tailwright.evaluation import sliced_metrics
from tailwright.evaluation.bootstrap import Difference, difference
from tailwright.evaluation.compare import TellingRows, telling_rows
from tailwright.evaluation.row_parts import Drawn, Draws, row_parts
from tailwright.labels import head_torso_tail
from tailwright.runs.evaluation import measured, ranked
from tailwright.study.compare.comparisons import frequency_buckets
from tailwright.study.page.html import render
from tailwright.study.page.svg import Plot, bars
from tailwright.study.quality.examples import Guess
from tailwright.study.report.headline import PSP, found_by_slice, joined

PLAIN, AUGMENTED = "twin", "twin+gandalf"
AGAINST = f"{AUGMENTED} against {PLAIN}"
# Chosen on a held-out tenth of the training rows: P@1 / PSP@5 / R@10, R@10 on the tail; full size, seed 0.
#
# | width, epochs | without | gandalf | gandalf without soft annotations |
# |---|---|---|---|
# | 256, 1 | 43.8 / 55.8 / 68.5, 67.2 | | 44.5 / 56.3 / 69.0, 68.1 |
# | 128, 2 | 44.2 / 55.0 / 67.9, 66.6 | 37.2 / 50.4 / 66.7, 67.5 | 44.8 / 54.9 / 69.0, 67.8 |
# | 128, 3 | 45.2 / 55.4 / 68.9, 68.0 | | 44.7 / 53.3 / 68.5, 67.6 |
# | 256, 2 (taken) | 47.6 / 58.7 / 72.5, 71.6 | 38.4 / 51.9 / 69.3, 69.7 | 46.4 / 57.8 / 72.5, 71.4 |
# | 256, 2, rate 0.003 | 46.7 / 58.6 / 71.8, 70.4 | | 46.5 / 57.7 / 72.5, 71.0 |
#
# Soft annotations cost much here. Without them, label texts as rows help a narrow or briefly trained twin; in
# a good one they trade unseen labels for frequent ones. The good one is taken, whether or not rows help.
TWIN = {"epochs": 2}
GANDALF = {"soft": False}
MODELS: dict[str, dict[str, Any]] = {
    "popularity": {"model": "popularity"},
    "label-matcher": {"model": "label-matcher"},
    PLAIN: {"model": "twin", "settings": TWIN},
    AUGMENTED: {
        "model": "twin",
        "settings": TWIN,
        "augment": ["gandalf"],
        "augment_settings": {"gandalf": GANDALF},
    },
}
# Fewest training rows of a label; finer than head, torso and tail, to see where a gain begins.
BUCKETS = (0, 1, 2, 3, 6, 11, 51)
GAIN_AT = 10
SHOWN = 3
EXAMPLES = 5


@dataclass(frozen=True, eq=False)
class Trial:
    """One model, its ranking of the test rows, and how good that is."""

    top: np.ndarray  # (test rows, k) int32
    metrics: dict[str, Any]
    by_bucket: dict[str, float | None]
    train_seconds: float
    test_seconds: float


@dataclass(frozen=True)
class ChangedRow:
    """A test row with the first labels of both twins."""

    text: str
    right: list[str]
    before: list[Guess]
    after: list[Guess]
    better: bool


@dataclass(frozen=True, eq=False)
class TwinComparison:
    """Twin with augmentation against twin without: R@10 gained, and rows that show it."""

    by_slice: dict[str, Difference]
    by_bucket: dict[str, Difference | None]
    telling: TellingRows
    examples: list[ChangedRow]

    def gain_rows(self) -> list[list[str]]:
        """For a table: labels, points, 95 % interval, test rows, verdict."""
        return [[name, *gain.cells()] for name, gain in self.by_slice.items()]

    def choice_rule(self, test_rows: int) -> list[str]:
        """Which rows are shown, in sentences: the same in the terminal and in the report."""
        telling = self.telling
        if not len(telling.rows):
            return [
                f"Tail labels among the first {SHOWN}: gandalf changed nothing on {test_rows:,} test rows."
            ]
        better = sum(example.better for example in self.examples)
        return [
            f"Right tail labels among the first {SHOWN}: with gandalf more of them on {telling.better:,} of "
            f"{test_rows:,} test rows, fewer on {telling.worse:,}.",
            f"Drawn at random in that proportion, {better} better and {len(self.examples) - better} worse.",
        ]


def measure(corpus: Corpus, name: str, seed: int) -> Trial:
    """Train one of the demo's models and measure it on the test rows."""
    start = time.perf_counter()
    run = tw.train(corpus, **MODELS[name], seed=seed)
    trained = time.perf_counter()
    test = corpus.splits()["test"]
    top = ranked(run, test)
    metrics = measured(run, top, test)
    buckets = frequency_buckets(corpus.labels.counts, BUCKETS)
    sliced = sliced_metrics(top, test.targets, None, buckets, (GAIN_AT,), test.excluded)
    by_bucket = {bucket: of_bucket.get(f"R@{GAIN_AT}") for bucket, of_bucket in sliced.items()}
    return Trial(top.ids, metrics, by_bucket, trained - start, time.perf_counter() - trained)


def compare_twins(corpus: Corpus, trials: Mapping[str, Trial], seed: int) -> TwinComparison:
    """What augmentation changed, with intervals over the test rows, and five rows drawn at random."""
    test, counts = corpus.splits()["test"], corpus.labels.counts
    before, after = trials[PLAIN].top, trials[AUGMENTED].top
    draws, metric = Draws(len(test), seed=seed), f"R@{GAIN_AT}"

    def gain(mask: np.ndarray) -> Difference | None:
        was, now = (
            Drawn.of(row_parts(top, test.targets, None, [metric], test.excluded, mask), draws)
            for top in (before, after)
        )
        return difference([was], [now], metric)

    slices = {"all": np.ones(len(counts), dtype=bool), **head_torso_tail(counts)}
    gains = {name: gain(mask) for name, mask in slices.items()}
    telling = telling_rows(
        before, after, test.targets, slices["tail"], SHOWN, count=EXAMPLES, seed=seed, excluded=test.excluded
    )
    return TwinComparison(
        {name: points for name, points in gains.items() if points is not None},
        {name: gain(mask) for name, mask in frequency_buckets(counts, BUCKETS).items()},
        telling,
        [
            _changed_row(corpus, before, after, int(row), bool(gained > 0))
            for row, gained in zip(telling.rows, telling.gained, strict=True)
        ],
    )


def _changed_row(corpus: Corpus, before: np.ndarray, after: np.ndarray, row: int, better: bool) -> ChangedRow:
    test, names = corpus.splits()["test"], corpus.labels.names
    excluded = set(test.excluded[[row]].indices.tolist())
    right = set(test.targets[[row]].indices.tolist()) - excluded

    def guesses(top: np.ndarray) -> list[Guess]:
        labels = [label for label in top[row].tolist() if label >= 0 and label not in excluded]
        return [Guess(names[label].as_py(), label in right) for label in labels[:SHOWN]]

    rare_first = sorted(right, key=lambda label: corpus.labels.counts[label])
    right_names = [names[label].as_py() for label in rare_first]
    return ChangedRow(test.texts[row].as_py(), right_names, guesses(before), guesses(after), better)


def demo_page(
    corpus: Corpus,
    report: CorpusReport,
    trials: Mapping[str, Trial],
    comparison: TwinComparison,
    seconds: Mapping[str, float],
    *,
    size: int | None,
    seed: int,
) -> str:
    """The demo as one HTML page."""
    of_slices = [(name, column) for name in slices_with_rows(trials) for column in SLICE_COLUMNS]
    return render(
        __package__,
        "demo.html.j2",
        title="Tailwright demo: rare labels with and without augmentation",
        lead=lead(trials, comparison),
        summary=summary(comparison),
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
        metric=f"R@{GAIN_AT}",
        against=AGAINST,
        gain_plot=gain_plot(comparison),
        recall_plot=recall_plot(trials),
        comparison=comparison,
        command=f"tailwright demo{'' if size is None else f' --size {size}'} --seed {seed}",
        script=_script(size, seed),
        settings=[
            [name, json.dumps(model.get("settings", {}) | model.get("augment_settings", {}))]
            for name, model in MODELS.items()
        ],
        seconds=[[name, f"{taken:.1f}"] for name, taken in seconds.items()],
    )


def lead(trials: Mapping[str, Trial], comparison: TwinComparison) -> str:
    """How many rare and frequent labels are found with augmentation, and how many were without."""
    metric = f"R@{GAIN_AT}"
    slices = trials[AUGMENTED].metrics["slices"]
    now = {name: slices[name][metric] for name in slices_with_rows(trials)}
    now["all"] = trials[AUGMENTED].metrics[metric]
    phrases = found_by_slice(now, comparison.by_slice)
    return joined(f"The first {GAIN_AT} labels of {AUGMENTED}, against {PLAIN}", phrases) if phrases else ""


def summary(comparison: TwinComparison) -> str:
    """The outcome in points, whichever way it went."""
    verdicts: dict[str, list[str]] = {}
    for name, gain in comparison.by_slice.items():
        where = "overall" if name == "all" else f"on {name} labels"
        verdicts.setdefault(gain.in_words, []).append(f"{where} ({gain.mean:+.2f} points)")
    outcome = "; ".join(f"{verdict} {', '.join(places)}" for verdict, places in verdicts.items())
    return f"R@{GAIN_AT} of {AGAINST}: {outcome or 'nothing to compare'}."


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


def gain_plot(comparison: TwinComparison) -> Plot:
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
        description="Both twins beside the two floors, popularity and label-matcher.",
        x_label="training rows of the label",
        y_label=f"R@{GAIN_AT}, percent",
    )


def _script(size: int | None, seed: int) -> list[str]:
    """Python that trains the augmented twin once more."""
    model = MODELS[AUGMENTED]
    return [
        "import tailwright as tw",
        f"corpus = tw.demo_corpus(size={size}, seed={seed})",
        f'run = tw.train(corpus, "twin", settings={model["settings"]}, seed={seed},',
        f"               augment={model['augment']}, augment_settings={model['augment_settings']})",
        'print(tw.evaluate(run, corpus.test)["R@10"])',
    ]
