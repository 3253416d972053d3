"""Ensembles: the sum of scores over the union of the runs' best labels, from Python and from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixed_model import Fixed
from scipy.special import expit

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run as command
from tailwright.cli.predict import split_runs
from tailwright.data import Corpus, Dataset, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError
from tailwright.models.popularity import Popularity
from tailwright.runs import Ensemble, Run


def fixed(ids, scores, kind="probability", labels=6) -> Run:
    return Run(Fixed(ids, scores, kind), LabelSpace.numbered(labels), 10)


def test_scores_are_summed_over_the_union_of_the_lists():
    ensemble = Ensemble((fixed([3, 1, 5], [0.9, 0.5, 0.1]), fixed([1, 2], [0.75, 0.25])))
    top = ensemble.top(["a", "b"], 5)
    assert top.ids.tolist() == [[1, 3, 2, 5, -1]] * 2
    np.testing.assert_allclose(top.scores[0, :4], [1.25, 0.9, 0.25, 0.1], rtol=1e-6)
    said = ensemble.predict(["a"], k=2)
    assert said.ids == said.names == [["1", "3"]]


def test_equal_sums_come_by_the_smaller_id_and_a_sum_of_zero_is_still_named():
    ensemble = Ensemble((fixed([4, 2], [0.5, 0.0]), fixed([0], [0.5])))
    assert ensemble.top(["a"], 4).ids.tolist() == [[0, 4, 2, -1]]


def test_log_odds_are_made_chances_and_large_ones_stay_apart():
    ensemble = Ensemble((fixed([2, 0], [18.5, 18.25], "log-odds"), fixed([5], [1.0])))
    top = ensemble.top(["a"], 3)
    assert top.ids.tolist() == [[5, 2, 0]]
    np.testing.assert_allclose(top.scores[0], [1, expit(18.5), expit(18.25)], rtol=1e-6)


def test_more_labels_are_added_up_than_are_asked_for():
    first = fixed([0, 1, 2], [0.6, 0.5, 0.4])
    ensemble = Ensemble((first, fixed([2, 1, 0], [0.6, 0.1, 0.0])), depth=3)
    assert ensemble.top(["a"], 1).ids.tolist() == [[2]]
    assert first.model.asked == [3]
    assert ensemble.top(["a"], 5).k == 5
    assert first.model.asked == [3, 5]
    assert Ensemble((first,)).top([], 2).ids.shape == (0, 2)


def test_evaluate_measures_the_sum():
    first, second = fixed([3, 1], [0.75, 0.5]), fixed([2, 1], [0.75, 0.5])
    rows = Dataset(["a", "b"], pairs_from_lists([[1], [1]], 6))
    assert tw.evaluate(first, rows)["P@1"] == tw.evaluate(second, rows)["P@1"] == 0
    found = tw.evaluate(Ensemble((first, second)), rows)
    assert found["P@1"] == 100
    assert "slices" in found
    assert tw.evaluate(Ensemble((first,)), rows) == tw.evaluate(first, rows)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b"], "run 3 has 2 labels, expected the 3 labels of run 1"),
        (["a", "x", "y"], "label 2 of run 3 is 'x', expected 'b', as in run 1"),
    ],
)
def test_runs_over_other_labels_are_refused_with_the_first_difference(ids, message):
    same = Run(Popularity(), LabelSpace(arrow_strings(["a", "b", "c"])), 5)
    other = Run(Popularity(), LabelSpace(arrow_strings(ids)), 5)
    with pytest.raises(InputError) as caught:
        Ensemble((same, same, other))
    assert str(caught.value) == message


def test_an_ensemble_without_runs_or_depth_is_refused():
    with pytest.raises(ValueError, match="at least one run"):
        Ensemble(())
    with pytest.raises(ValueError, match="depth must be >= 1, got 0"):
        Ensemble((fixed([0], [1.0]),), depth=0)


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """A folder with the tiny corpus, two runs on it, and one over other labels."""
    folder = tmp_path_factory.mktemp("ensemble")
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    corpus = Corpus(train, corpus.labels, test=test)
    tw.write(corpus, folder / "data", format="jsonl")
    for name in ("popularity", "label-matcher"):
        tw.train(corpus, name, out=folder / name)
    tw.train(tw.data.corpus_from_lists(["a"] * 3, [[0]] * 3, ["x"]), "popularity", out=folder / "other")
    return folder


def both(folder: Path) -> list[str]:
    return [str(folder / "popularity"), str(folder / "label-matcher")]


def test_evaluate_takes_several_runs_before_the_path(kept, capsys):
    assert command(["evaluate", *both(kept), str(kept / "data"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    ensemble = Ensemble(tuple(tw.load(folder) for folder in both(kept)))
    assert result["metrics"] == tw.evaluate(ensemble, tw.read(kept / "data").test)
    assert result["runs"] == both(kept)
    assert command(["evaluate", *both(kept), str(kept / "data")]) == 0
    assert "popularity + label-matcher on" in capsys.readouterr().out


def test_predict_takes_runs_up_to_the_first_argument_that_is_none(kept, capsys, tmp_path):
    texts = ["guitar", "no such folder"]
    assert command(["predict", *both(kept), *texts, "--k", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [row["text"] for row in result["predictions"]] == texts
    ensemble = Ensemble(tuple(tw.load(folder) for folder in both(kept)))
    assert [row["ids"] for row in result["predictions"]] == ensemble.predict(texts, k=2).ids
    # A folder that is no run is a text, and so is all that follows; the first argument is a run in any case.
    runs, rest = split_runs(["gone", both(kept)[0], str(tmp_path), both(kept)[1], "x" * 5000])
    assert (list(map(str, runs)), rest) == (
        ["gone", both(kept)[0]],
        [str(tmp_path), both(kept)[1], "x" * 5000],
    )


@pytest.mark.parametrize("name", ["evaluate", "predict"])
def test_runs_over_other_labels_are_one_line(kept, capsys, name):
    arguments = [name, str(kept / "popularity"), str(kept / "other"), str(kept / "data")]
    assert command(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["tailwright: run 2 has 1 labels, expected the 11 labels of run 1"]


def test_evaluate_with_one_argument_is_one_line(kept, capsys):
    assert command(["evaluate", str(kept / "popularity")]) == 2
    assert "expected a run folder and a corpus: RUN... PATH" in capsys.readouterr().err
