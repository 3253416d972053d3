"""Comparisons of outcomes: means and gains that are the metrics', verdicts corrected for being many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ranked_outcomes import LABELS, exam, outcome

from tailwright.errors import InputError
from tailwright.evaluation import metrics_at_k, sliced_metrics
from tailwright.evaluation.bootstrap import holm, paired_bootstrap
from tailwright.evaluation.row_parts import row_parts
from tailwright.labels import PROPENSITY_PRESETS, head_torso_tail
from tailwright.study.compare.comparisons import (
    SLICES,
    compare_all,
    frequency_buckets,
    gain_by_frequency,
    in_order,
)

EXAM = exam()
METRICS = ("P@1", "PSP@5", "R@10")


def weights_of(one):
    return PROPENSITY_PRESETS["default"].inverse(one.counts, one.n_train)


@pytest.fixture(scope="module")
def outcomes():
    made = []
    for seed in range(3):
        made += [
            outcome(EXAM, 0.4, seed=seed),
            outcome(EXAM, 0.7, seed=seed, augmentation="gandalf"),
            outcome(EXAM, 0.4, seed=seed, augmentation="labelmix", noise=seed + 50),
        ]
    return made


@pytest.fixture(scope="module")
def table(outcomes):
    (found,) = compare_all(outcomes, {"toy": EXAM}, METRICS, draws=300)
    return found


def test_a_mean_is_that_of_the_metrics_over_seeds(table, outcomes):
    test = EXAM.test
    of_seeds = [
        metrics_at_k(one.top, test.targets, weights_of(one), (1, 5, 10), test.excluded)
        for one in outcomes
        if one.cell.augmentation == "gandalf"
    ]
    entry = next(entry for entry in table.entries if entry.augmentation == "gandalf")
    for metric in METRICS:
        values = [found[metric] for found in of_seeds]
        assert entry.mean["all"][metric] == pytest.approx(np.mean(values))
        assert entry.spread["all"][metric] == pytest.approx(np.std(values, ddof=1))


def test_slices_are_those_of_the_rows_trained_on(table, outcomes):
    test, entry = EXAM.test, table.entries[0]
    masks = head_torso_tail(outcomes[0].counts)
    for name in SLICES:
        found = [
            sliced_metrics(one.top, test.targets, weights_of(one), masks, (1, 5, 10), test.excluded)[name]
            for one in outcomes
            if one.cell.augmentation == "none"
        ]
        for metric in METRICS:
            expected = np.mean([of_slice[metric] for of_slice in found])
            assert entry.mean[name][metric] == pytest.approx(expected)


def test_gains_are_over_the_same_system_without_augmentation(table, outcomes):
    assert [entry.augmentation for entry in table.entries] == ["none", "gandalf", "labelmix"]
    baseline, gandalf, labelmix = table.entries
    assert baseline.gain == {}
    for metric in METRICS:
        gain = gandalf.gain["all"][metric]
        assert gain.mean == pytest.approx(gandalf.mean["all"][metric] - baseline.mean["all"][metric])
        assert (gain.verdict, gain.seeds) == ("better", 3)
        assert labelmix.gain["all"][metric].verdict == "="
    assert set(gandalf.gain) == {"all", *SLICES}


def test_p_is_corrected_over_all_gains_of_the_table(table, outcomes):
    def parts(augmentation):
        return [
            row_parts(one.top, EXAM.test.targets, weights_of(one), METRICS, EXAM.test.excluded)
            for one in outcomes
            if one.cell.augmentation == augmentation
        ]

    plain = [paired_bootstrap(parts("none"), parts(name), draws=300) for name in ("gandalf", "labelmix")]
    expected = holm([found[metric].p for found in plain for metric in METRICS])
    corrected = [entry.gain["all"][metric].p for entry in table.entries[1:] for metric in METRICS]
    assert corrected == pytest.approx(expected)


def test_the_best_is_clear_only_where_no_other_is_level_with_it(table, outcomes):
    for metric in METRICS:
        assert (table.best[metric].place, table.best[metric].is_clear) == (1, True)
    twins = [
        *outcomes,
        *(outcome(EXAM, 0.7, seed=seed, augmentation="gandalf w/o SA", noise=seed + 90) for seed in range(3)),
    ]
    (found,) = compare_all(twins, {"toy": EXAM}, ["P@1"], draws=300)
    first = found.best["P@1"]
    assert {first.place, *first.level_with} == {1, 2}
    assert not first.is_clear


def test_a_system_alone_is_the_best_and_has_no_gain():
    (found,) = compare_all([outcome(EXAM, 0.5, augmentation="gandalf")], {"toy": EXAM}, ["P@1"], draws=50)
    assert (found.best["P@1"].place, found.best["P@1"].second, found.best["P@1"].is_clear) == (0, None, True)
    assert found.entries[0].gain == {}
    assert found.entries[0].spread["all"]["P@1"] is None


def test_each_dataset_and_fraction_is_a_table_of_its_own():
    other = exam("other")
    made = [
        outcome(judged, 0.5, fraction=fraction, n_train=int(400 * fraction), counts=judged.labels.counts * 0)
        for judged in (other, EXAM)
        for fraction in (1.0, 0.05)
    ]
    found = compare_all(
        made,
        {"toy": EXAM, "other": other},
        ["P@1"],
        draws=50,
    )
    assert [(table.dataset, table.fraction) for table in found] == [
        ("other", 0.05),
        ("other", 1.0),
        ("toy", 0.05),
        ("toy", 1.0),
    ]
    assert list(found[0].entries[0].mean) == ["all", "unseen"]


def test_weighted_metrics_are_left_out_where_propensities_have_no_meaning():
    few = outcome(EXAM, 0.5, n_train=2, counts=np.zeros(LABELS, dtype=np.int64))
    (found,) = compare_all([few], {"toy": EXAM}, ["P@1", "PSP@5", "PSnDCG@5"], draws=50)
    assert found.metrics == ("P@1",)


def test_two_cells_of_one_name_are_refused():
    one = outcome(EXAM, 0.5)
    with pytest.raises(InputError, match="found two cells called toy / twin / none / 1 / seed 0"):
        compare_all([one, replace(one, key="other")], {"toy": EXAM})
    assert len(compare_all([one, one], {"toy": EXAM}, draws=50)[0].entries[0].outcomes) == 1


def test_an_outcome_of_other_test_rows_is_refused():
    with pytest.raises(InputError, match="300 rows over 30 labels, expected 20 over 30, as toy has"):
        compare_all([outcome(EXAM, 0.5)], {"toy": exam(rows=20)})


def test_gain_by_frequency_finds_the_labels_that_gained():
    rare = EXAM.labels.counts <= 3
    before = [outcome(EXAM, 0.5, seed=seed) for seed in range(4)]
    after = [outcome(EXAM, np.where(rare, 0.95, 0.5), seed=seed, augmentation="gandalf") for seed in range(4)]
    gains = dict(gain_by_frequency(before, after, EXAM, "R@5", (0, 1, 4, 8, 512), draws=300))
    assert list(gains) == ["0", "1-3", "4-7", "8-511"]
    assert [gain.verdict for gain in gains.values()] == ["better", "better", "=", "="]
    assert sum(gain.rows for gain in gains.values()) >= len(EXAM.test)


def test_buckets_hold_every_label_once_from_the_first_edge_on():
    counts = np.array([0, 1, 2, 3, 4, 9, 2000])
    buckets = frequency_buckets(counts)
    assert sum(mask.astype(int) for mask in buckets.values()).tolist() == [1] * len(counts)
    assert [name for name, mask in buckets.items() if mask.any()] == [
        "0",
        "1",
        "2-3",
        "4-7",
        "8-15",
        "1024 and more",
    ]
    with pytest.raises(ValueError, match="edges must ascend"):
        frequency_buckets(counts, (1, 1))


def test_lines_stand_as_asked_for_with_systems_together_and_baselines_first():
    lines = [("a", "x"), ("b", "none"), ("a", "none"), ("b", "x"), ("c", "y"), ("a", "w")]
    order = [("b", "x"), ("a", "x"), ("b", "none"), ("a", "w")]
    assert in_order(lines, order) == [
        ("b", "none"),
        ("b", "x"),
        ("a", "none"),
        ("a", "x"),
        ("a", "w"),
        ("c", "y"),
    ]
