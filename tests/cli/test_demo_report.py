"""The demo's page on corpora that are not the demo's: hostile names, no tail, one label, nothing gained."""

from __future__ import annotations

import numpy as np
import pytest
from html_reading import Reading

import tailwright as tw
from tailwright.cli.demo_page import demo_page
from tailwright.cli.demo_story import (
    AUGMENTED,
    BUCKETS,
    MODELS,
    Comparison,
    Dial,
    Trial,
    by_frequency,
    compare,
    overall,
)
from tailwright.cli.inspect import rank_plot
from tailwright.data import Corpus, Dataset, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.evaluation.bootstrap import Difference
from tailwright.evaluation.compare import TellingRows
from tailwright.labels import head_torso_tail
from tailwright.runs.facts import TailAdvice
from tailwright.study.compare.comparisons import frequency_buckets

NASTY = "</article><script>alert('x')</script>&<img src=x onerror=y>"


def corpus_of(rows: list[list[int]], labels: int, name: str = "label") -> Corpus:
    """The same rows for training and test."""
    data = Dataset(
        arrow_strings([f"{name} text {i}" for i in range(len(rows))]), pairs_from_lists(rows, labels)
    )
    names = arrow_strings([f"{name} {i}" for i in range(labels)])
    return Corpus(data, LabelSpace(arrow_strings([str(i) for i in range(labels)]), names, names), test=data)


def page_of(corpus: Corpus, before: list[list[int]], after: list[list[int]]) -> str:
    """The page where the last model says `after` and the others `before`."""
    from tailwright.evaluation import metrics_at_k, sliced_metrics

    test = corpus.test
    weights = np.ones(len(corpus.labels))
    slices = head_torso_tail(corpus.labels.counts)
    trials = {}
    for name in MODELS:
        top = np.array(after if name == AUGMENTED else before, dtype=np.int32)
        metrics = metrics_at_k(top, test.targets, weights, (1, 3, 5, 10))
        of_slices = sliced_metrics(top, test.targets, weights, slices, (1, 3, 5, 10))
        buckets = dict.fromkeys(frequency_buckets(corpus.labels.counts, BUCKETS))
        trials[name] = Trial(top, {**metrics, "slices": of_slices}, buckets, 1.0, 1.0, "a+b")
    comparison = compare(corpus, trials, seed=0)
    return demo_page(corpus, tw.inspect(corpus), trials, comparison, {"total": 1.0}, size=400, seed=0)


def test_hostile_names_and_texts_stay_text():
    page = page_of(corpus_of([[0], [1], [0]], 2, NASTY), [[0], [0], [1]], [[1], [1], [0]])
    reading = Reading(page)
    assert reading.wrong == []
    assert "<script" not in page
    assert f"{NASTY} text 0" in reading.of("p")
    assert f"{NASTY} 0" in reading.of("li")
    assert (reading.count("article"), page.count("With gandalf: worse")) == (3, 1)


@pytest.mark.parametrize(
    ("rows", "labels"),
    [([[0]] * 4, 1), ([[0]] * 60, 1), ([[0], [1], [2]], 3), ([[0]] * 60 + [[1]] * 60, 2)],
    ids=["one tail label", "one head label", "tail alone", "no tail"],
)
def test_a_page_of_few_labels_is_whole(rows, labels):
    page = page_of(corpus_of(rows, labels), [[0]] * len(rows), [[0]] * len(rows))
    assert Reading(page).wrong == []
    assert "gandalf changed nothing" in page
    assert "no clear difference overall (+0.00 points)" in page


def test_a_corpus_without_labelled_rows_has_no_curve():
    assert "there is nothing to draw" in rank_plot(corpus_of([[], []], 2).labels.counts).__html__()


def test_bands_of_the_curve_have_the_sizes_of_the_slices():
    plot = rank_plot(corpus_of([[0]] * 60 + [[1]] * 7 + [[2], [3]], 5).labels.counts).__html__()
    assert "Labels: 1 head, 1 torso, 2 tail." in plot


def test_the_page_opens_with_how_many_rare_labels_are_found():
    rows = [[label] for label in range(12)]
    page = page_of(corpus_of(rows, 12), [[label] if label < 3 else [0] for label in range(12)], rows)
    first = Reading(page).of("p")[0]
    assert first == (
        "The first 10 labels of linear with gandalf against linear. "
        "Rare labels: 100 of 100 found instead of 25."
    )


def test_the_sentence_of_a_comparison_says_what_became_worse():
    gains = {
        "all": Difference("R@10", 0.1, -1, 1, 0.8, 9, 1),
        "tail": Difference("R@10", 2, 1, 3, 0.01, 9, 1),
        "unseen": Difference("R@10", -2.5, -3, -1, 0.01, 9, 1),
    }
    nothing = TellingRows(np.array([], dtype=np.int64), np.array([]), 0, 0)
    assert Comparison(gains, {}, nothing, []).sentence() == (
        "R@10 of linear with gandalf against linear: no clear difference overall (+0.10 points); "
        "better on tail labels (+2.00 points); worse on unseen labels (-2.50 points)."
    )


def dial_of(figures: dict[float, tuple[float, float]], recommended: float | None) -> Dial:
    """P@1 and PSP@5 by tail; other figures are 0."""
    metrics = {
        tail: {"P@1": p1, "PSP@1": 0.0, "PSP@5": psp5, "slices": {"tail": {"R@5": 0.0}}}
        for tail, (p1, psp5) in figures.items()
    }
    advice = None if recommended is None else TailAdvice(tail=recommended, rows=60, p1=0.0, psp5=1.0)
    return Dial(metrics, advice)


@pytest.mark.parametrize(
    ("recommended", "said"),
    [
        (None, "Too few rows were held out in training to recommend a tail; --tail 1 changes"),
        (0.0, "Training recommends no tail: none gained more than it cost on held-out rows; "),
        (
            0.5,
            "Training recommends --tail 0.5: against 0, it changes P@1 by +0.50 and PSP@5 by -1.00 points; "
            "--tail 1 changes",
        ),
    ],
)
def test_the_dial_says_what_is_recommended_and_what_it_changes_either_way(recommended, said):
    dial = dial_of({0.0: (50, 60), 0.5: (50.5, 59), 1.0: (40, 62)}, recommended)
    assert dial.sentence().startswith(said)
    assert dial.sentence().endswith("--tail 1 changes P@1 by -10.00 and PSP@5 by +2.00 points.")
    header, rows = dial.table(["tail"])
    assert header[-2:] == ["R@5 tail", ""]
    marked = [row[0] for row in rows if row[-1] == "recommended"]
    assert marked == ([] if recommended is None else [f"--tail {recommended:g}"])


def test_a_recommended_tail_of_one_is_told_of_once():
    said = dial_of({0.0: (50, 60), 1.0: (40, 62)}, 1.0).sentence()
    assert said == (
        "Training recommends --tail 1: against 0, it changes P@1 by -10.00 and PSP@5 by +2.00 points."
    )


def test_the_best_are_named_by_slice_whoever_they_are():
    def trial(p1: float, tail: float, head: float) -> Trial:
        slices = {
            "head": {"rows": 5, "P@1": head},
            "tail": {"rows": 5, "P@1": tail},
            "unseen": {"rows": 0, "P@1": 99.0},
        }
        return Trial(np.empty((0, 1)), {"P@1": p1, "PSP@5": 10.0, "slices": slices}, {}, 1.0, 1.0, "a")

    trials = {"a": trial(30, 5, 9), "b": trial(20, 5, 80)}
    assert overall(trials) == "Best: a in P@1 (30.00); a and b in PSP@5 (10.00)."
    assert by_frequency(trials, "P@1") == "Best P@1: b on head labels (80.00); a and b on tail labels (5.00)."
