"""Requests: which labels are ranked, how sure a run must be, and texts of which nothing is known."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from fixed_model import Fixed
from hypothesis import given, settings
from hypothesis import strategies as st

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.models.popularity import Popularity
from tailwright.runs import Ensemble, Run, label_choice
from tailwright.runs.label_lists import listed_labels

LABELS = 12


class Told(Popularity):
    """Ranks the labels of text i as `rankings[i]` says, which need not name all."""

    card = Fixed([], []).card

    def __init__(self, rankings):
        super().__init__()
        self.rankings = rankings

    def predict(self, texts, k):
        ids = np.full((len(texts), k), -1, np.int32)
        for row, text in enumerate(texts.to_pylist()):
            ranking = self.rankings[int(text)][:k]
            ids[row, : len(ranking)] = ranking
        return TopK(ids, np.where(ids >= 0, 1 / np.arange(2, k + 2), -np.inf))


def fixed(ids, scores, kind="probability", labels=6) -> Run:
    return Run(Fixed(ids, scores, kind), LabelSpace.numbered(labels), 10)


rankings = st.lists(
    st.permutations(range(LABELS)).flatmap(lambda p: st.integers(0, LABELS).map(lambda n: p[:n])),
    min_size=1,
    max_size=4,
)
chosen = st.none() | st.sets(st.integers(0, LABELS - 1), min_size=1)


@settings(max_examples=30)
@given(rankings, chosen, chosen, st.integers(1, 4))
def test_chosen_labels_are_ranked_as_in_the_whole_ranking_without_the_others(told, only, without, k):
    allowed = (set(range(LABELS)) if only is None else only) - (without or set())
    run = Run(Told(told), LabelSpace.numbered(LABELS), 10)
    texts = [str(row) for row in range(len(told))]
    if not allowed:
        with pytest.raises(InputError, match="leaves none"):
            run.predict(texts, k=k, only=only, without=without)
        return
    found = run.predict(texts, k=k, only=only, without=without)
    assert found.ids == [[str(label) for label in ranking if label in allowed][:k] for ranking in told]
    # Scores are those of the whole ranking.
    every = run.predict(texts, k=LABELS)
    scores = [dict(zip(*row, strict=True)) for row in zip(every.ids, every.scores, strict=True)]
    assert found.scores == [[of[label] for label in row] for of, row in zip(scores, found.ids, strict=True)]


def test_a_model_is_asked_for_no_more_than_it_takes(monkeypatch):
    run = fixed(list(range(100)), np.linspace(0.9, 0.1, 100), labels=100)
    assert run.predict(["a"], k=2, without=["0", "50"]).ids == [["1", "2"]]
    assert run.model.asked == [4]
    run.model.asked.clear()
    assert run.predict(["a", "b"], k=2, only=["40", 7]).ids == [["7", "40"]] * 2
    assert run.model.asked == [16, 100]
    run.model.asked.clear()
    monkeypatch.setattr(label_choice, "PAIRS_AT_ONCE", 100)
    run.predict(["a"] * 3, k=2, only=["99"])
    assert run.model.asked == [16, 100, 100, 100]  # one text at a time


def test_rare_labels_come_first_among_the_chosen_too():
    labels = LabelSpace.numbered(6).with_counts([60, 40, 20, 5, 1, 0])
    run = Run(Fixed([0, 1, 2, 3, 4], [0.5, 0.45, 0.4, 0.35, 0.3]), labels, 100)
    assert run.predict("a", k=2, only=["0", "1", "3"], tail=1.0).ids == [["3", "0"]]
    assert run.predict("a", k=2, tail=1.0).ids == [["4", "3"]]


def test_labels_are_named_by_id_or_name_and_an_unknown_one_is_one_line():
    run = Run(
        Fixed([1, 0], [0.5, 0.25]), LabelSpace(arrow_strings(["a", "b"]), arrow_strings(["shoes", "hats"])), 9
    )
    assert run.predict("x", only="shoes").ids == run.predict("x", without=["b"]).ids == [["a"]]
    with pytest.raises(InputError, match="no label has the id or name 'shoe'; did you mean 'shoes'"):
        run.predict("x", only=["b", "shoe"])


def test_labels_may_be_listed_in_files(tmp_path):
    labels = LabelSpace(arrow_strings(["a", "b", "c"]), arrow_strings(["red, blue", "hats", "wool"]))
    (tmp_path / "lines.txt").write_text("hats\n\n c \n")
    (tmp_path / "table.csv").write_text("id,name\nc,other\n")
    (tmp_path / "names.csv").write_text("name\nhats\nwool\n")
    for values, found in (
        (["a,b"], ["a", "b"]),
        (["red, blue", "hats"], ["red, blue", "hats"]),
        ([str(tmp_path / "lines.txt")], ["hats", "c"]),
        ([str(tmp_path / "table.csv")], ["c"]),
        ([str(tmp_path / "names.csv")], ["hats", "wool"]),
    ):
        assert listed_labels(values, labels) == found


def test_a_threshold_leaves_out_labels_below_it():
    run = fixed([0, 1, 2], [0.9, 0.7, 0.2])
    assert run.predict(["a"], threshold=0.7).ids == [["0", "1"]]  # as 0.7 is shown, not as float32 rounds it
    assert run.predict(["a"], threshold=0).ids == [["0", "1", "2"]]
    assert run.predict(["a"], threshold=1).ids == [[]]
    log_odds = fixed([0, 1], [3.0, -3.0], "log-odds")
    assert log_odds.predict(["a"], threshold=0.5).ids == [["0"]]


@pytest.mark.parametrize("option", ["threshold", "abstain"])
def test_a_probability_needs_a_run_that_gives_such_and_lies_between_0_and_1(option):
    with pytest.raises(InputError, match=f"--{option} with popularity, whose scores are no probabilities"):
        fixed([0], [5.0], "rank").predict(["a"], **{option: 0.5})
    for wrong in (1.5, -1, float("nan"), "much", True):
        with pytest.raises(InputError, match=f"--{option} .* expected a number from 0 to 1"):
            fixed([0], [0.5]).predict(["a"], **{option: wrong})


def test_a_run_abstains_where_it_is_not_sure_or_knows_nothing():
    run = fixed([0, 1], [0.4, 0.2])
    assert run.predict(["a", " "]).abstained is None
    found = run.predict(["a", " "], abstain=0.0)
    assert (found.ids, found.abstained) == ([["0", "1"], []], [False, True])
    found = run.predict(["a"], abstain=0.4)
    assert (found.ids, found.abstained) == ([["0", "1"]], [False])
    found = run.predict(["a"], abstain=0.5)
    assert (found.ids, found.abstained) == ([[]], [True])
    found = run.predict(["a"], threshold=0.9, abstain=0.1)
    assert (found.ids, found.abstained) == ([[]], [False])
    assert fixed([0], [5.0], "rank").predict([""], abstain=0.0).abstained == [True]


@pytest.mark.parametrize("k", [0, -1, True, 1.5])
def test_k_is_a_whole_number_from_1(k):
    with pytest.raises(InputError, match=r"--k .* expected a whole number from 1"):
        fixed([0], [0.5]).predict(["a"], k=k)


def test_a_string_is_one_text():
    run = fixed([0, 1], [0.4, 0.2])
    assert run.predict("a text", k=1) == run.predict(["a text"], k=1)
    assert Ensemble((run,)).predict("a text", k=1).ids == [["0"]]


def test_an_ensemble_gives_the_mean_of_probabilities():
    both = Ensemble((fixed([3, 1], [0.9, 0.5]), fixed([1, 3], [3.0, 2.0], "log-odds")))
    said = both.predict("a")
    top = both.top(["a"], 5)
    assert top.scores[0, 0] > 1  # the sum, which evaluation ranks by
    np.testing.assert_allclose(said.scores[0], top.scores[0, :2] / 2, rtol=1e-6)
    assert all(0 <= score <= 1 for score in said.scores[0])
    # Sums of scores that are no probabilities stay sums.
    assert Ensemble((fixed([3], [5.0], "rank"), fixed([3], [0.5]))).predict("a").scores == [[5.5]]


def test_an_ensemble_ranks_the_chosen_labels_of_each_run():
    both = Ensemble((fixed([3, 1, 5], [0.9, 0.5, 0.1]), fixed([1, 2], [0.75, 0.25])), depth=1)
    assert both.predict("a", k=1, only=["2", "5"]).ids == [["2"]]
    assert both.predict("a", k=3, without=["1"]).ids == [["3", "2", "5"]]


@pytest.fixture(scope="module")
def linear() -> Run:
    return tw.train(tiny_corpus(60), "linear", settings={"trees": 1})


def test_a_text_of_unseen_words_gets_no_labels_but_is_ranked_for_evaluation(linear):
    texts = ["an apple", "", "   ", "zzyzx qwv"]
    assert [bool(row) for row in linear.predict(texts).ids] == [True, False, False, False]
    assert (linear.top(texts, 3).ids >= 0).all()
    assert linear.knows(texts).tolist() == [True, False, False, False]
    matcher = tw.train(tiny_corpus(30), "label-matcher")
    both = Ensemble((linear, matcher))
    # Of the label that no row has, the matcher knows the text.
    assert both.knows(["zeppelin", "zzyzx"]).tolist() == [True, False]
    assert both.predict(["zeppelin", "zzyzx"], k=1).ids == [["10"], []]


def test_linear_names_every_chosen_label_whatever_its_beam_missed():
    corpus, shape = tiny_corpus(40), {"trees": 2, "depth": 3, "branching": 2, "cluster_size": 2, "beam": 1}
    narrow = tw.train(corpus, "linear", settings=shape)
    all_of_it = copy(narrow.model)
    all_of_it.settings = replace(narrow.model.settings, beam=100)
    wide = replace(narrow, model=all_of_it)
    texts = corpus.train.texts.slice(0, 20)
    named = [set(map(str, row)) for row in narrow.top(texts, 11).ids.tolist()]
    with_rows = set(map(str, np.flatnonzero(corpus.labels.counts)))
    for chosen in ({"0", "3", "8"}, {"5"}, set(map(str, range(11)))):
        found, expected = (run.predict(texts, k=11, only=chosen) for run in (narrow, wide))
        assert all(set(row) == chosen & with_rows for row in found.ids)
        short = [row for row in range(20) if not chosen & with_rows <= named[row]]
        assert short
        assert [found[row] for row in short] == [expected[row] for row in short]


def test_scores_of_uncalibrated_runs_are_the_models_probabilities(linear):
    top = linear.top(["apple bridge"], 3)
    assert not linear.is_calibrated
    assert linear.predict(["apple bridge"], k=3).scores == top.scores.tolist()
