"""What the demo measures, with and without augmentation and at several tails, and what is to be seen there.

Every sentence is made of the figures of the run, so none can be false if they come out otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tailwright as tw
from tailwright.data.corpus import Corpus
from tailwright.evaluation import TopK, sliced_metrics
from tailwright.evaluation.bootstrap import Difference, difference
from tailwright.evaluation.compare import TellingRows, telling_rows
from tailwright.evaluation.row_parts import Drawn, Draws, row_parts
from tailwright.labels import head_torso_tail
from tailwright.runs import Run
from tailwright.runs.evaluation import KS, measured, ranked
from tailwright.runs.facts import TailAdvice
from tailwright.runs.tail import can_dial, depth_for, reordered, tail_weights
from tailwright.study.compare.comparisons import frequency_buckets
from tailwright.study.quality.examples import Guess

PLAIN, AUGMENTED, DEFAULT = "linear", "linear with gandalf", "default"
AGAINST = f"{AUGMENTED} against {PLAIN}"
# Chosen on a held-out tenth of the training rows: P@1 / PSP@5 / R@10, then R@10 by slice; seed 0. Soft
# annotations were tried at the smaller size alone. Lighter rows leave frequent labels more as they were.
#
# | gandalf | 20,000 rows | 40,000 rows | head, torso, tail, unseen of 40,000 |
# |---|---|---|---|
# | none | 45.4 / 36.2 / 60.4 | 38.4 / 31.2 / 54.7 | 88.3, 72.8, 45.1, 0.0 |
# | soft annotations | 39.6 / 43.0 / 64.0 | | |
# | without | 48.1 / 45.2 / 63.9 | 39.7 / 36.6 / 55.5 | 75.0, 64.6, 45.3, 29.7 |
# | without, weight 0.5 (taken) | 48.9 / 44.9 / 65.0 | 41.1 / 38.3 / 58.3 | 83.7, 69.1, 48.6, 26.6 |
# | without, weight 0.25 | | 39.8 / 35.5 / 58.6 | 86.9, 71.8, 49.4, 18.6 |
GANDALF = {"soft": False, "weight": 0.5}
MODELS: dict[str, dict[str, Any]] = {
    "popularity": {"model": "popularity"},
    "label-matcher": {"model": "label-matcher"},
    PLAIN: {"model": "linear"},
    AUGMENTED: {"model": "linear", "augment": ["gandalf"], "augment_settings": {"gandalf": GANDALF}},
    DEFAULT: {"model": "auto"},
}
COLUMNS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@5", "PSnDCG@5", "R@10")
SLICE_COLUMNS = ("P@1", "PSP@5", "R@10")
TAILS = (0.0, 0.5, 1.0)  # beside the one that training recommends
DIAL_COLUMNS, DIAL_SLICE_COLUMN = ("P@1", "PSP@1", "PSP@5"), "R@5"
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
    model: str
    dial: Dial | None = None  # if the model gives probabilities


@dataclass(frozen=True)
class Dial:
    """The metrics of a model by tail, and what training recommends on rows that it had held out."""

    metrics: dict[float, dict[str, Any]]
    advice: TailAdvice | None

    def table(self, slices: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        """Header and rows: a tail is a row."""
        rows = []
        for tail, of_tail in self.metrics.items():
            figures = [of_tail[column] for column in DIAL_COLUMNS]
            figures += [of_tail["slices"][name][DIAL_SLICE_COLUMN] for name in slices]
            recommended = self.advice is not None and tail == self.advice.tail
            cells = [f"--tail {tail:g}", *(f"{figure:.2f}" for figure in figures)]
            rows.append([*cells, "recommended" if recommended else ""])
        return ["default", *DIAL_COLUMNS, *(f"{DIAL_SLICE_COLUMN} {name}" for name in slices), ""], rows

    def sentence(self) -> str:
        """What the recommended tail and the largest give and cost on the test rows."""
        largest = f"--tail {max(self.metrics):g} changes {self._changes(max(self.metrics))}"
        if self.advice is None:
            said = "Too few rows were held out in training to recommend a tail"
        elif not self.advice.tail:
            said = "Training recommends no tail: none gained more than it cost on held-out rows"
        else:
            changes = self._changes(self.advice.tail)
            said = f"Training recommends --tail {self.advice.tail:g}: against 0, it changes {changes}"
            if self.advice.tail == max(self.metrics):
                return f"{said}."
        return f"{said}; {largest}."

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        recommended = None if self.advice is None else self.advice.tail
        by_tail = {f"{tail:g}": of_tail for tail, of_tail in self.metrics.items()}
        return {"recommended": recommended, "metrics": by_tail}

    def _changes(self, tail: float) -> str:
        """
        >>> Dial({0.0: {"P@1": 50.0, "PSP@5": 60.0}, 1.0: {"P@1": 48.0, "PSP@5": 61.0}}, None)._changes(1.0)
        'P@1 by -2.00 and PSP@5 by +1.00 points'
        """
        before, after = self.metrics[0.0], self.metrics[tail]
        p1, psp5 = (f"{name} by {after[name] - before[name]:+.2f}" for name in ("P@1", "PSP@5"))
        return f"{p1} and {psp5} points"


@dataclass(frozen=True)
class ChangedRow:
    """A test row with the first labels without and with augmentation."""

    text: str
    right: list[str]
    before: list[Guess]
    after: list[Guess]
    better: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """`linear` with augmentation against `linear` without: R@10 gained, and rows that show it."""

    by_slice: dict[str, Difference]
    by_bucket: dict[str, Difference | None]
    telling: TellingRows
    examples: list[ChangedRow]

    def gain_rows(self) -> list[list[str]]:
        """For a table: labels, points, 95 % interval, test rows, verdict."""
        return [[name, *gain.cells()] for name, gain in self.by_slice.items()]

    def sentence(self) -> str:
        """The outcome in points, whichever way it went."""
        verdicts: dict[str, list[str]] = {}
        for name, gain in self.by_slice.items():
            where = "overall" if name == "all" else f"on {name} labels"
            verdicts.setdefault(gain.in_words, []).append(f"{where} ({gain.mean:+.2f} points)")
        outcome = "; ".join(f"{verdict} {', '.join(places)}" for verdict, places in verdicts.items())
        return f"R@{GAIN_AT} of {AGAINST}: {outcome or 'nothing to compare'}."

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
    dial = None
    if name == DEFAULT and can_dial(run):
        tops = by_tail(run, corpus)
        dial = Dial({tail: measured(run, top, test) for tail, top in tops.items()}, run.tail)
        top, metrics = tops[0.0], dial.metrics[0.0]
    else:
        top = ranked(run, test)
        metrics = measured(run, top, test)
    buckets = frequency_buckets(corpus.labels.counts, BUCKETS)
    sliced = sliced_metrics(top, test.targets, None, buckets, (GAIN_AT,), test.excluded)
    by_bucket = {bucket: of_bucket.get(f"R@{GAIN_AT}") for bucket, of_bucket in sliced.items()}
    return Trial(top.ids, metrics, by_bucket, trained - start, time.perf_counter() - trained, run.name, dial)


def by_tail(run: Run, corpus: Corpus) -> dict[float, TopK]:
    """The ranking of the test rows by tail, ascending; the model ranks them once."""
    test = corpus.splits()["test"]
    k = min(max(KS) + int(np.diff(test.excluded.indptr).max(initial=0)), len(run.labels))
    top = run.top(test.texts, depth_for(k, len(run.labels)), test.excluded)
    weights = tail_weights(run.labels.counts, run.train_rows)
    tails = sorted({*TAILS, run.recommended_tail or 0.0})
    return {tail: reordered(top, run.probabilities(top), weights, tail, k) for tail in tails}


def compare(corpus: Corpus, trials: Mapping[str, Trial], seed: int) -> Comparison:
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
    return Comparison(
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


def slices_with_rows(trials: Mapping[str, Trial]) -> list[str]:
    """The slices of the labels that occur on test rows."""
    slices = next(iter(trials.values())).metrics["slices"]
    return [name for name in slices if slices[name]["rows"]]


def overall(trials: Mapping[str, Trial]) -> str:
    """Which model is best overall, in the metric of all labels and in that of rare ones."""
    names = ("P@1", "PSP@5")
    leading = _leading({name: {model: t.metrics[name] for model, t in trials.items()} for name in names})
    return f"Best: {leading}."


def by_frequency(trials: Mapping[str, Trial], column: str) -> str:
    """Which model is best on head, torso, tail and unseen labels."""
    places = {
        f"on {name} labels": {model: t.metrics["slices"][name][column] for model, t in trials.items()}
        for name in slices_with_rows(trials)
    }
    return f"Best {column}: {_leading(places)}."


def _leading(places: Mapping[str, Mapping[str, float]]) -> str:
    """Who is first where, and with which figure; figures that look the same share a place.

    >>> _leading({"P@1": {"a": 2, "b": 3}, "PSP@5": {"a": 9, "b": 9.001}, "R@10": {"a": 1, "b": 2}})
    'b in P@1 (3.00) and in R@10 (2.00); a and b in PSP@5 (9.00)'
    """
    won: dict[str, list[str]] = {}
    for place, of_models in places.items():
        best = f"{max(of_models.values()):.2f}"
        winners = [model for model, figure in of_models.items() if f"{figure:.2f}" == best]
        where = place if place.startswith("on ") else f"in {place}"
        won.setdefault(" and ".join(winners), []).append(f"{where} ({best})")
    return "; ".join(f"{model} {listed(wins)}" for model, wins in won.items())


def listed(phrases: Sequence[str]) -> str:
    """
    >>> listed(["on tail labels", "on unseen labels"])
    'on tail labels and on unseen labels'
    """
    *first, last = phrases
    return f"{', '.join(first)} and {last}" if first else last
