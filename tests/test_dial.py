"""The dial for the tail: the order of labels, and nothing else, by probability and inverse propensity."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from fixed_model import Fixed
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data import Corpus, Dataset, LabelSpace
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.models import models
from tailwright.runs import Ensemble, Run
from tailwright.runs.facts import TailAdvice
from tailwright.runs.held_out import held_out_rows, learnt_from_held_out
from tailwright.runs.probability import Calibration, calibrated, probabilities_of
from tailwright.runs.tail import depth_for, reordered, tail_weights
from tailwright.runs.trade import MOST_LOST, TRIED, expected_loss, trade, trade_of, worth

COUNTS = np.array([60, 40, 20, 5, 1, 0])
ROWS = 100


def fixed(ids, scores, kind="probability", **more) -> Run:
    labels = LabelSpace.numbered(len(COUNTS)).with_counts(COUNTS)
    return Run(Fixed(ids, scores, kind), labels, ROWS, **more)


SAID = [0, 1, 2, 3, 4], [0.5, 0.45, 0.4, 0.35, 0.3]
tails = st.floats(0, 1)


@st.composite
def rankings(draw):
    """Rankings of at most six labels, with probabilities in descending order and padding at the end."""
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        count = draw(st.integers(0, len(COUNTS)))
        ids = draw(st.permutations(range(len(COUNTS))))[:count]
        scores = sorted(
            draw(st.lists(st.floats(0, 1, width=32), min_size=count, max_size=count)), reverse=True
        )
        missing = len(COUNTS) - count
        rows.append(([*ids, *[-1] * missing], [*scores, *[-np.inf] * missing]))
    ids, scores = zip(*rows, strict=True)
    return TopK(np.array(ids, dtype=np.int32), np.array(scores, dtype=np.float32))


@given(rankings(), st.integers(1, 8))
def test_tail_0_changes_nothing(top, k):
    weights = tail_weights(COUNTS, ROWS)
    found = reordered(top, probabilities_of(top, "probability"), weights, 0.0, k)
    width = min(k, top.k)
    assert found.k == k
    assert np.array_equal(found.ids[:, :width], top.ids[:, :width])
    assert np.array_equal(found.scores[:, :width], top.scores[:, :width])


@given(rankings(), tails)
def test_only_the_order_changes_and_every_label_keeps_its_score(top, tail):
    weights = tail_weights(COUNTS, ROWS)
    found = reordered(top, probabilities_of(top, "probability"), weights, tail, top.k)
    for before, was, after, now in zip(top.ids, top.scores, found.ids, found.scores, strict=True):
        assert dict(zip(before.tolist(), was.tolist(), strict=True)) == dict(
            zip(after.tolist(), now.tolist(), strict=True)
        )
        named = after >= 0
        assert not named[np.argmin(named) :].any() or named.all()  # padding stays at the end
        values = now[named].astype(np.float64) * weights[after[named]] ** tail
        assert (np.diff(values) <= 1e-12).all()


def test_a_rare_label_comes_first_with_a_large_tail_and_scores_stay():
    run = fixed(*SAID)
    assert run.top(["a"], 2).ids.tolist() == [[0, 1]]
    found = run.top(["a", "b"], 2, tail=1.0)
    assert found.ids.tolist() == [[4, 3]] * 2
    np.testing.assert_allclose(found.scores, [[0.3, 0.35]] * 2, rtol=1e-6)
    assert run.predict(["a"], k=2, tail=1.0).ids == [["4", "3"]]
    assert run.predict([], k=2, tail=1.0).ids == []
    assert run.top(["a"], 8, tail=1.0).ids.tolist() == [[4, 3, 2, 0, 1, -1]]  # there are 6 labels


def test_tail_0_asks_the_model_for_no_more_than_k():
    run = fixed(*SAID)
    run.top(["a"], 2, tail=0.0)
    run.top(["a"], 2, tail=0.5)
    assert run.model.asked == [2, len(COUNTS)]
    assert (depth_for(5, 1000), depth_for(50, 1000), depth_for(5, 7), depth_for(9, 7)) == (25, 250, 7, 9)


def test_log_odds_are_made_probabilities_first():
    probabilities = np.array(SAID[1])
    log_odds = fixed(SAID[0], np.log(probabilities / (1 - probabilities)), "log-odds")
    for tail in (0.1, 0.3, 0.6, 1.0):
        assert np.array_equal(
            log_odds.top(["a"], 5, tail=tail).ids, fixed(*SAID).top(["a"], 5, tail=tail).ids
        )


def test_excluded_pairs_still_leave_k_labels():
    run = fixed(*SAID)
    excluded = pairs_from_lists([[4], []], len(COUNTS))
    rows = Dataset(["a", "b"], pairs_from_lists([[3], [4]], len(COUNTS)), excluded=excluded)
    found = tw.evaluate(run, rows, ks=(1,), tail=1.0)
    assert found["P@1"] == 100  # 4 leaves the first row, and 3 moves up
    assert tw.evaluate(run, rows, ks=(1,))["P@1"] == 0


def test_an_ensemble_reorders_the_mean_probability():
    runs = fixed([0, 4], [0.9, 0.3]), fixed([0, 3], [2.0, -2.0], "log-odds")
    ensemble = Ensemble(runs)
    top = ensemble.top(["a"], 3)
    assert top.ids.tolist() == [[0, 4, 3]]
    np.testing.assert_allclose(ensemble.probabilities(top)[0], np.array([0.9 + expit(2), 0.3, expit(-2)]) / 2)
    again = ensemble.top(["a"], 3, tail=1.0)
    assert again.ids[0].tolist() == [0, 4, 3]
    rare = Ensemble((fixed(*SAID), fixed(*SAID)))
    assert rare.predict(["a"], k=2, tail=1.0).ids == fixed(*SAID).predict(["a"], k=2, tail=1.0).ids
    assert np.array_equal(rare.top(["a"], 2, tail=0.0).ids, rare.top(["a"], 2).ids)


@pytest.mark.parametrize("tail", [2, -0.1, float("nan"), float("inf"), "much"])
def test_a_tail_outside_0_to_1_is_refused(tail):
    with pytest.raises(InputError, match="expected a number from 0 to 1"):
        fixed(*SAID).predict(["a"], tail=tail)


def test_what_cannot_be_dialled_says_so_in_one_line():
    with pytest.raises(InputError, match="--tail with popularity, whose scores are no probabilities"):
        fixed(*SAID, "rank").predict(["a"], tail=0.5)
    with pytest.raises(InputError, match="no probabilities"):
        Ensemble((fixed(*SAID), fixed(*SAID, "rank"))).predict(["a"], tail=0.5)
    with pytest.raises(InputError, match="1 training rows, expected at least 3"):
        replace(fixed(*SAID), train_rows=1).predict(["a"], tail=0.5)
    assert fixed(*SAID, "rank").predict(["a"], k=1, tail=0).ids == [["0"]]
    assert "ECE@1" not in tw.evaluate(
        fixed(*SAID, "rank"), Dataset(["a"], pairs_from_lists([[1]], len(COUNTS)))
    )


def test_auto_is_what_the_run_recommends_and_of_several_the_smallest():
    advised = [fixed(*SAID, tail=TailAdvice(tail=tail, rows=60, p1=-0.5, psp5=2.0)) for tail in (1.0, 0.25)]
    assert advised[0].predict(["a"], k=2, tail="auto").ids == [["4", "3"]]
    assert Ensemble(tuple(advised)).recommended_tail == 0.25
    assert Ensemble((advised[0], fixed(*SAID))).recommended_tail is None
    with pytest.raises(InputError, match="trained without held-out rows"):
        fixed(*SAID).predict(["a"], tail="auto")


@pytest.mark.parametrize("name", models.names())
def test_every_card_says_what_its_scores_are(name):
    assert models.card(name).scores in ("probability", "log-odds", "rank")


def test_models_without_probabilities_are_known():
    assert [name for name in models.names() if models.card(name).scores == "rank"] == [
        "astec",
        "label-matcher",
        "popularity",
    ]


def test_the_recommended_tail_gains_most_for_at_most_a_point():
    draw = np.random.default_rng(0)
    rows, labels = 2000, 30
    counts = (300 / np.arange(1, labels + 1)).astype(int)
    probabilities = np.sort(draw.beta(0.5, 2, (rows, labels)), axis=1)[:, ::-1]
    top = TopK(np.array([draw.permutation(labels) for _ in range(rows)], np.int32), probabilities)
    truth = np.zeros((rows, labels), dtype=np.float32)
    at = np.nonzero(draw.random((rows, labels)) < probabilities)
    truth[at[0], top.ids[at]] = 1
    data = Dataset(["a"] * rows, sparse.csr_array(truth))
    weights = tail_weights(counts, 1000)
    found = trade_of(top, probabilities, data, weights)
    before, best = found.metrics[0.0], found.metrics[found.advice.tail]
    assert found.advice.tail > 0

    for tail in TRIED:
        loss = before["P@1"] - found.metrics[tail]["P@1"]
        # These probabilities hold, and 2,000 rows lose nearly what they foresee.
        assert loss <= MOST_LOST + 0.3 or tail != found.advice.tail
        assert loss >= MOST_LOST - 0.3 or worth(found.metrics[tail]) <= worth(best)
    assert found.advice.p1 == pytest.approx(best["P@1"] - before["P@1"])
    assert found.advice.psp5 == pytest.approx(best["PSP@5"] - before["PSP@5"])
    assert found.metrics[1.0]["PSP@1"] > before["PSP@1"]  # these probabilities hold
    assert list(found.shown()) == sorted({0, 0.1, 0.25, 0.5, 0.75, 1, found.advice.tail})


def test_many_rows_decide_by_what_they_lost_and_few_by_what_was_foreseen():
    """Two points are lost on one row of fifty, and half a point was foreseen."""
    lost, foreseen = np.zeros(50), np.zeros(50)
    lost[0], foreseen[:5] = 1, 0.05
    few, many = (expected_loss(np.tile(lost, times), np.tile(foreseen, times), 0.1) for times in (1, 1000))
    assert few == pytest.approx(0.5, abs=0.4)
    assert many == pytest.approx(2, abs=0.05)
    # Probabilities that are far off are not believed.
    assert expected_loss(lost, foreseen, 10.0) == pytest.approx(2, abs=0.01)
    assert expected_loss(np.zeros(50), np.zeros(50), 0.1) == 0


def test_a_trade_is_what_evaluate_gives_at_each_tail():
    run = fixed(*SAID)
    excluded = pairs_from_lists([[0], [], [4]], len(COUNTS))
    rows = Dataset(["a", "b", "c"], pairs_from_lists([[1, 4], [0], [3]], len(COUNTS)), excluded=excluded)
    for tail, values in trade(run, rows).shown().items():
        found = tw.evaluate(run, rows, tail=tail)
        assert values == {name: pytest.approx(found[name]) for name in values}
    with pytest.raises(InputError, match="no probabilities"):
        trade(fixed(*SAID, "rank"), rows)


def test_a_calibration_finds_the_curve_and_leaves_out_ignored_pairs_and_weightless_rows():
    draw = np.random.default_rng(1)
    rows, labels = 3000, 4
    log_odds = np.sort(draw.normal(0, 2, (rows, labels)), axis=1)[:, ::-1]
    right = draw.random((rows, labels)) < expit(0.5 * log_odds - 1)
    ids = np.tile(np.arange(labels, dtype=np.int32), (rows, 1))
    ids[:, -1] = -1
    wrong = np.zeros(rows)
    wrong[:1000] = 1  # rows that say the opposite
    right = np.where(wrong[:, None] > 0, ~right, right)
    data = Dataset(
        ["a"] * rows, sparse.csr_array(right.astype(np.float32)), weights=(1 - wrong).astype(np.float32)
    )
    found = calibrated(TopK(ids, log_odds), "log-odds", data)
    assert found.factor == pytest.approx(0.5, abs=0.08)
    assert found.offset == pytest.approx(-1, abs=0.15)


def test_validation_rows_calibrate_a_run_and_choose_its_tail_and_run_json_keeps_both(tmp_path):
    corpus = tiny_corpus()
    train, valid = corpus.train.split(0.5)
    whole = Corpus(train, corpus.labels, valid=valid, test=valid)
    run = tw.train(whole, "linear", settings={"trees": 1})
    assert run.is_calibrated
    assert run.tail is not None
    assert 0 <= run.tail.tail <= 1
    assert run.tail.rows == len(valid)
    run.save(tmp_path / "run")
    again = tw.load(tmp_path / "run")
    assert (again.tail, again.calibration) == (run.tail, run.calibration)
    said = again.predict(["red wool"], k=3)
    assert all(0 <= score <= 1 for score in said.scores[0])
    assert said == run.predict(["red wool"], k=3)
    assert 0 <= tw.evaluate(run, valid)["ECE@5"] <= 100
    fewer = Corpus(train, corpus.labels, valid=valid.take(np.arange(20)))
    for without in (fewer, Corpus(train, corpus.labels, test=valid)):
        assert learnt_from_held_out(run.model, held_out_rows(run.model, without)) == (None, None)


def test_an_older_run_json_without_both_still_loads(tmp_path):
    fixed_facts = {"factor": 2.0, "offset": -1.0}
    run = tw.train(tiny_corpus(), "popularity")
    assert (run.tail, run.calibration) == (None, None)
    replace(run, calibration=Calibration(**fixed_facts)).save(tmp_path / "new")
    assert json.loads((tmp_path / "new" / "run.json").read_text())["calibration"] == fixed_facts
    from tailwright.runs.facts import RunFacts
    from tailwright.runs.run import read_facts

    facts = read_facts(tmp_path / "new").model_dump()
    del facts["tail"], facts["calibration"]
    assert RunFacts.model_validate(facts).tail is None


def test_a_fusion_is_judged_by_the_rows_that_it_held_out():
    corpus = tiny_corpus()
    model = models.get("linear+twin")
    settings = {"held_out": 0.5, "fewest": 20, "folds": 1, "twin.epochs": 1, "twin.width": 8}
    run = tw.train(corpus, "linear+twin", settings=settings)
    assert model.card.scores == "probability"
    assert run.calibration == Calibration()
    assert run.tail is not None
    assert run.model.held_out.learnt_rows + run.tail.rows == run.train_rows
    assert run.tail.rows == len(run.model.held_out.rows)
