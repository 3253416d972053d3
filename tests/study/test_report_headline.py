"""What a report opens with: how many rare and frequent labels are found, and whether that is a change."""

from __future__ import annotations

import numpy as np
import pytest
from ranked_outcomes import LABELS, exam, outcome

from tailwright.evaluation.bootstrap import Difference
from tailwright.study.compare.comparisons import compare_all
from tailwright.study.report import plots
from tailwright.study.report.headline import found_by_slice, headlines

EXAM = exam()
RARE = np.arange(LABELS) >= 8


def tables(*outcomes, metrics=("P@1", "R@10")):
    return compare_all(outcomes, {EXAM.name: EXAM}, metrics, draws=200)


@pytest.fixture(scope="module")
def pair():
    before = [outcome(EXAM, np.where(RARE, 0.3, 0.6), seed=s) for s in range(3)]
    after = [outcome(EXAM, np.where(RARE, 0.8, 0.6), seed=s, augmentation="gandalf") for s in range(3)]
    return before, after


def test_it_says_how_many_rare_labels_are_found_instead_of_how_many(pair):
    before, after = pair
    (sentence,) = headlines(tables(*before, *after))
    was, now = (np.mean([one.metrics["slices"]["tail"]["R@10"] for one in side]) for side in (before, after))
    assert sentence.startswith(
        "toy: the first ten labels of twin with gandalf, against the same model without"
    )
    assert f"Rare labels: {now:.0f} of 100 found instead of {was:.0f}; frequent ones: " in sentence
    was, now = (np.mean([one.metrics["slices"]["head"]["R@10"] for one in side]) for side in (before, after))
    assert sentence.endswith(f"{now:.0f} of 100 found, {was:.0f} before, no clear difference.")


def test_without_a_baseline_it_says_what_is_found(pair):
    (sentence,) = headlines(tables(*pair[0]))
    tail = np.mean([one.metrics["slices"]["tail"]["R@10"] for one in pair[0]])
    assert sentence.startswith(f"toy: the first ten labels of twin. Rare labels: {tail:.0f} of 100 found; ")
    assert "instead" not in sentence


def test_it_is_about_the_largest_share_of_rows_and_silent_without_recall(pair):
    small = [outcome(EXAM, 0.2, fraction=0.5, n_train=200)]
    (sentence,) = headlines(tables(*pair[0], *small))
    assert sentence == headlines(tables(*pair[0]))[0]
    assert headlines(tables(*pair[0], metrics=("P@1",))) == []


def test_where_no_slice_is_there_all_labels_are_meant():
    gain = Difference("R@10", -4.0, -6.0, -2.0, 0.001, 50, 3)
    assert found_by_slice({"all": 40.0}, {"all": gain}) == ["labels: 40 of 100 found instead of 44"]


def test_a_plot_with_one_curve_has_a_legend_too():
    layout = plots.figure([plots.line("none", [1], [2], "#000000", "")], "x", "y")["layout"]
    assert layout["showlegend"] is True
