"""The bootstrap: intervals that hold what they promise, verdicts that few rows or seeds cannot buy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tailwright.evaluation import row_parts as draws_module
from tailwright.evaluation.bootstrap import (
    Difference,
    Term,
    contrast,
    difference,
    holm,
    holm_adjusted,
    paired_bootstrap,
)
from tailwright.evaluation.row_parts import Drawn, Draws, RowParts


def parts_of(found: np.ndarray, possible: np.ndarray | None = None, metric: str = "P@1") -> RowParts:
    return RowParts(
        (metric,), found[:, None], np.ones((len(found), 1)) if possible is None else possible[:, None]
    )


def covered(tries: int, rows: int, true_difference: float, sample) -> float:
    """How often the interval of two lists of parts, drawn by `sample(random)`, holds the true difference."""
    draws = Draws(rows, 400)
    held = 0
    for number in range(tries):
        before, after = sample(np.random.default_rng(number))
        was, now = ([Drawn.of(parts, draws) for parts in side] for side in (before, after))
        gain = difference(was, now, "P@1")
        held += gain.low <= true_difference <= gain.high
    return held / tries


def test_intervals_of_a_mean_hold_the_true_difference_about_95_times_in_100():
    def sample(random):
        was, now = (parts_of((random.random(300) < odds).astype(float)) for odds in (0.4, 0.5))
        return [was], [now]

    assert 0.92 <= covered(600, 300, 10.0, sample) <= 0.975


def test_intervals_of_a_ratio_of_sums_hold_the_true_difference_about_95_times_in_100():
    def sample(random):
        # Heavier rows are easier, so the ratio of sums is not the mean of the rows' ratios.
        possible = random.exponential(size=300) + 0.1
        heavy = np.minimum(possible / 4, 0.5)
        was, now = (random.random(300) < odds + heavy for odds in (0.2, 0.3))
        return [parts_of(possible * was, possible)], [parts_of(possible * now, possible)]

    assert 0.92 <= covered(600, 300, 10.0, sample) <= 0.975


SCATTERS = {"no scatter": 0.0, "some": 0.02, "more than rows": 0.08}
NUMBERS = {"paired": (3, 3), "unpaired": (2, 4), "one alone": (1, 4)}


@pytest.mark.parametrize(
    ("numbers", "scatter"),
    [
        # Each of both once in the quick suite: four hundred studies are drawn for a pair of them.
        pytest.param(NUMBERS[a], SCATTERS[b], id=f"{a}-{b}", marks=[] if i == j else [pytest.mark.slow])
        for i, a in enumerate(NUMBERS)
        for j, b in enumerate(SCATTERS)
    ],
)
def test_intervals_hold_the_difference_of_methods_however_their_seeds_scatter(numbers, scatter):
    def sample(random):
        sides = []
        for seeds, odds in zip(numbers, (0.4, 0.5), strict=True):
            quality = odds + scatter * random.standard_normal(seeds)
            sides.append([parts_of((random.random(400) < q).astype(float)) for q in quality])
        return sides

    # Without a thought of seeds these would be 0.44 to 0.9; with the rows' part counted twice, 1.
    assert 0.885 <= covered(400, 400, 10.0, sample) <= 0.985


def test_without_a_difference_about_5_verdicts_in_100_are_wrong():
    draws, wrong = Draws(300, 400), 0
    for number in range(600):
        random = np.random.default_rng(number)
        was, now = (Drawn.of(parts_of((random.random(300) < 0.4).astype(float)), draws) for _ in range(2))
        wrong += difference([was], [now], "P@1").verdict != "="
    assert 0.02 <= wrong / 600 <= 0.085


def test_the_standard_error_of_a_mean_is_the_textbook_one():
    random = np.random.default_rng(0)
    was, now = random.random(500), random.random(500)
    gain = paired_bootstrap([parts_of(was)], [parts_of(now)], draws=4000)["P@1"]
    error = 100 * (now - was).std() / math.sqrt(500)
    assert gain.mean == pytest.approx(100 * (now - was).mean())
    assert gain.high - gain.low == pytest.approx(2 * 1.96 * error, rel=0.05)
    assert gain.p == pytest.approx(2 * stats.norm.sf(abs(gain.mean) / error), rel=0.25)


def test_p_falls_far_below_one_over_the_number_of_draws():
    was, now = np.zeros(1000), (np.arange(1000) % 2).astype(float)
    assert paired_bootstrap([parts_of(was)], [parts_of(now)], draws=200)["P@1"].p < 1e-20


def test_rows_are_drawn_alike_on_both_sides():
    """Two sides that scatter much and differ by one right row in ten: unpaired, that would be noise."""
    was = (np.random.default_rng(0).random(400) < 0.5).astype(float)
    now = was.copy()
    now[np.flatnonzero(was == 0)[:20]] = 1
    gain = paired_bootstrap([parts_of(was)], [parts_of(now)])["P@1"]
    assert (gain.mean, gain.verdict) == (pytest.approx(5.0), "better")
    assert 2.5 < gain.low < 5 < gain.high < 7.5


def test_two_seeds_that_disagree_show_nothing_however_many_rows_there_are():
    rows = 5000
    same = parts_of((np.arange(rows) % 2).astype(float))
    up, down = (parts_of((np.arange(rows) % 10 < share).astype(float)) for share in (8, 3))
    gain = paired_bootstrap([same, same], [up, down])["P@1"]
    assert (gain.mean, gain.verdict, gain.seeds) == (pytest.approx(5.0), "=", 2)
    assert gain.low < -20 < 30 < gain.high
    assert paired_bootstrap([same], [up])["P@1"].verdict == "better"


def test_equal_sides_do_not_differ():
    parts = parts_of(np.random.default_rng(0).random(50))
    gain = paired_bootstrap([parts, parts], [parts, parts])["P@1"]
    assert gain == Difference("P@1", 0.0, 0.0, 0.0, 1.0, 50, 2)
    assert (gain.verdict, gain.in_words) == ("=", "no clear difference")


@pytest.mark.parametrize(("rows", "verdict"), [(1, "="), (2, "="), (5, "="), (6, "better")])
def test_fewer_than_six_rows_show_nothing_though_they_all_agree(rows, verdict):
    gain = paired_bootstrap([parts_of(np.zeros(rows))], [parts_of(np.ones(rows))])["P@1"]
    assert (gain.mean, gain.verdict, gain.rows) == (100.0, verdict, rows)
    assert gain.p == 2.0 ** (1 - rows)
    assert (gain.low <= 0) == (verdict == "=")


def test_a_few_rows_of_a_slice_among_many_show_nothing():
    counts = np.zeros(1000)
    counts[:4] = 1
    gain = paired_bootstrap([parts_of(np.zeros(1000), counts)], [parts_of(counts, counts)])["P@1"]
    assert (gain.mean, gain.rows, gain.verdict) == (100.0, 4, "=")
    assert gain.p == 0.125


def test_a_metric_that_no_row_counts_in_is_left_out():
    nothing = RowParts(("P@1", "R@1"), np.zeros((9, 2)), np.stack([np.ones(9), np.zeros(9)], axis=1))
    assert list(paired_bootstrap([nothing], [nothing])) == ["P@1"]


def test_the_difference_of_two_gains_is_measured_on_the_same_draws():
    random = np.random.default_rng(0)
    draws = Draws(200, 300)
    a, b, c = (Drawn.of(parts_of(random.random(200)), draws) for _ in range(3))
    terms = [Term(1, [b], "P@1"), Term(-1, [a], "P@1"), Term(-1, [c], "P@1"), Term(1, [a], "P@1")]
    found = contrast("more", terms)
    direct = difference([c], [b], "P@1")
    assert found.mean == pytest.approx(direct.mean)
    assert (found.low, found.high, found.p) == pytest.approx((direct.low, direct.high, direct.p))


def test_the_same_seed_gives_the_same_draws_in_blocks_of_any_size_held_or_not(monkeypatch):
    columns = np.random.default_rng(0).random((70, 3))
    whole = Draws(70, 50).totals(columns)
    monkeypatch.setattr(draws_module, "BLOCK_VALUES", 210)
    monkeypatch.setattr(draws_module, "HELD_BYTES", 700)
    few_held = Draws(70, 50)
    assert np.allclose(few_held.totals(columns), whole, rtol=1e-12)
    assert np.allclose(few_held.totals(columns), whole, rtol=1e-12)
    assert not np.allclose(Draws(70, 50, seed=1).totals(columns), whole)
    assert np.allclose(Draws(70, 60).totals(columns)[:50], whole, rtol=1e-12)


def test_a_draw_has_as_many_rows_as_there_are():
    totals = Draws(33, 20).totals(np.ones((33, 1)))
    assert totals.tolist() == [[33.0]] * 20


def test_where_rows_do_not_scatter_it_is_the_t_test_of_the_seeds():
    values = np.array([0.3, 0.42, 0.47, 0.61])
    was, now = ([parts_of(np.full(50, level)) for level in side] for side in (np.full(4, 0.4), values))
    gain = paired_bootstrap(was, now, draws=20_000)["P@1"]
    expected = stats.ttest_1samp(values - 0.4, 0)
    low, high = expected.confidence_interval(0.95)
    assert gain.p == pytest.approx(expected.pvalue, rel=0.03)
    assert (gain.low, gain.high) == pytest.approx((100 * low, 100 * high), abs=0.6)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_rejects_what_the_step_down_procedure_rejects(ps):
    rejected = set()
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        if ps[place] * (len(ps) - rank) >= 0.05:
            break
        rejected.add(place)
    adjusted = holm(ps)
    assert {place for place, p in enumerate(adjusted) if p < 0.05} == rejected
    assert all(p <= a <= 1 for p, a in zip(ps, adjusted, strict=True))


def test_a_verdict_goes_by_the_adjusted_p():
    found = [Difference("P@1", 1.0, 0.1, 2.0, p, 9, 1) for p in (0.03, 0.04)]
    assert [one.verdict for one in found] == ["better", "better"]
    assert [one.verdict for one in holm_adjusted(found)] == ["=", "="]
    assert Difference("P@1", -1.0, -2.0, -0.1, 0.01, 9, 1).verdict == "worse"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Draws(0), "rows must be >= 1, got 0"),
        (lambda: Draws(5, 1), "draws must be >= 2, got 1"),
        (lambda: paired_bootstrap([], [parts_of(np.ones(2))]), "found 0 and 1 seeds"),
        (
            lambda: paired_bootstrap([parts_of(np.ones(3))], [parts_of(np.ones(2))]),
            "parts have 2 rows, expected 3",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def shares_of(*shares: float) -> list[RowParts]:
    """A seed for each share of 1,000 rows that are right."""
    return [parts_of((np.arange(1000) < round(1000 * share)).astype(float)) for share in shares]


def test_39_against_51_with_two_seeds_is_not_called_equal_in_a_table_of_eight():
    gain = paired_bootstrap(shares_of(0.380, 0.408), shares_of(0.534, 0.492))["P@1"]
    assert gain.mean == pytest.approx(51.3 - 39.4)
    adjusted = holm_adjusted([gain] * 8)[0]
    assert adjusted.p > 0.2  # one degree of freedom
    assert (adjusted.verdict, adjusted.in_words) == ("too few seeds", "not enough seeds to tell")
    low, high = (float(word) for word in adjusted.interval.removesuffix(", rows only").split(" to "))
    error = 100 * math.sqrt(0.119 * (1 - 0.119) / 1000)
    assert (low, high) == pytest.approx((11.9 - 1.96 * error, 11.9 + 1.96 * error), abs=0.5)


def test_more_seeds_that_agree_tell_what_two_could_not():
    was, now = (0.380, 0.408, 0.394, 0.38, 0.408, 0.394), (0.534, 0.492, 0.513, 0.534, 0.492, 0.513)
    gain = paired_bootstrap(shares_of(*was), shares_of(*now))["P@1"]
    assert holm_adjusted([gain] * 8)[0].verdict == "better"


@pytest.mark.parametrize(("before", "after"), [((0.4, 0.4), (0.6, 0.3)), ((0.4, 0.7, 0.4), (0.6, 0.6))])
def test_seeds_that_disagree_on_the_sign_have_no_word_of_rows_alone(before, after):
    gain = paired_bootstrap(shares_of(*before), shares_of(*after))["P@1"]
    assert (gain.rows_alone, gain.verdict) == (None, "=")


def test_seeds_that_agree_where_rows_show_nothing_are_level():
    was, now = ([parts_of((np.arange(20) < n).astype(float)) for n in side] for side in ((9, 10), (10, 12)))
    gain = holm_adjusted(list(paired_bootstrap(was, now).values()) * 4)[0]
    assert gain.mean > 0
    assert gain.verdict == "="
