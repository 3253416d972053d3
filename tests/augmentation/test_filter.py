"""filter: which made rows are kept or weighed, by which classifier, in training and in a study."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from told_classifier import Told
from toy_augmenter import SwapTwoWords
from toy_study import toy_corpus

import tailwright as tw
from tailwright.augmentation import augmenter
from tailwright.augmentation.filter import Filter, FilterSettings, RowScores, scaled
from tailwright.augmentation.shared.agreement import FLOOR
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.checks.refiners import with_copies
from tailwright.data.corpus import Corpus, corpus_from_lists
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.errors import InputError
from tailwright.models.linear import Linear
from tailwright.runs.scoring import row_scores, scorer_for
from tailwright.settings import settings_from
from tailwright.study.plan.cells import Cell
from tailwright.study.run.exam import Exam
from tailwright.study.run.trial import code_of, tried

FINDS, MISSES = [5.0, None, None], [None, 5.0, None]


def toy(copies: int = 5) -> tuple[Corpus, Told]:
    """Rows of label 0 with a copy each; copy i has a cross-entropy of i + 1, less than 1e-4 of it elsewhere.

    The classifier finds label 0 in the sources of odd copies alone.
    """
    corpus = corpus_from_lists([f"row {i}" for i in range(copies)], [[0]] * copies, ["x", "y", "z"])
    made = Dataset(
        arrow_strings([f"copy {i}" for i in range(copies)]),
        corpus.train.targets,
        origin=Origin.made_by("copy", np.arange(copies)),
    )
    table = {f"row {i}": FINDS if i % 2 else MISSES for i in range(copies)}
    for i in range(copies):
        p = np.exp(-1.0 - i)
        table[f"copy {i}"] = [float(np.log(p / (1 - p))), None, None]
    return corpus.with_train(Dataset.concat([corpus.train, made])), Told(table)


def chosen(**asked: object) -> Filter:
    return Filter(settings_from(FilterSettings, asked))


def test_a_toy_set_has_the_scores_that_were_worked_out_by_hand():
    corpus, told = toy()
    found = chosen().scores(corpus.train, told)
    rest = 2 * np.logaddexp(0, FLOOR)
    np.testing.assert_allclose(found.diversity, np.arange(1, 6) + rest, rtol=1e-6)
    assert found.consistency.tolist() == [0, 1, 0, 1, 0]
    # Scaled: 0, 1/4, 1/2, 3/4, 1 for one, 0 and 1 for the other.
    np.testing.assert_allclose(found.scores, [0, 0.625, 0.25, 0.875, 0.5], atol=1e-6)
    assert found.rows.tolist() == [5, 6, 7, 8, 9]
    assert found.sources.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("keep", "kept"),
    # Of five scores the percentiles 0, 25, 50, 75 and 100 are scores themselves.
    [(0.2, [3]), (0.25, [1, 3]), (0.5, [1, 3, 4]), (0.75, [1, 2, 3, 4]), (1.0, [0, 1, 2, 3, 4])],
)
def test_rows_at_or_above_the_percentile_are_kept(keep, kept):
    corpus, told = toy()
    refined = chosen(keep=keep).refined(corpus, classifier=told)
    texts = [f"row {i}" for i in range(5)] + [f"copy {i}" for i in sorted(kept)]
    assert refined.train.texts.to_pylist() == texts


def test_as_a_weight_the_score_multiplies_the_weight_of_made_rows():
    corpus, told = toy()
    halved = replace(corpus.train, weights=np.full(10, 0.5))
    refined = chosen(act="weight").refined(corpus.with_train(halved), classifier=told).train
    np.testing.assert_allclose(refined.weights[:5], 0.5)
    np.testing.assert_allclose(refined.weights[5:], [0, 0.3125, 0.125, 0.4375, 0.25], atol=1e-6)


def test_rows_of_weight_0_are_not_scored_and_stay():
    corpus, told = toy()
    weights = np.ones(10)
    weights[9] = 0
    refined = chosen(keep=0.01).refined(
        corpus.with_train(replace(corpus.train, weights=weights)), classifier=told
    )
    assert refined.train.texts.to_pylist()[5:] == ["copy 3", "copy 4"]
    assert told.asked["copy 4"] == 0


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]), min_size=1), st.integers(1, 100))
def test_what_is_kept_reaches_the_percentile_of_numpy(values, percent):
    scores = np.array(values)
    unused = np.zeros(len(scores))
    best = RowScores(unused, unused, unused, unused, scores).best(percent / 100)
    threshold = np.percentile(scores, 100 - percent)
    # Between two scores numpy rounds; on one of them it may miss it by a bit.
    np.testing.assert_array_equal(best, scores >= threshold - 1e-12)


@given(st.lists(st.floats(-50, 50)), st.sampled_from(["minmax", "rank", "percentile"]))
def test_every_scaling_stays_in_order_between_0_and_1(values, scaling):
    found = scaled(np.array(values), scaling)
    assert ((found >= 0) & (found <= 1)).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(found[order]) >= -1e-12).all()


def test_one_outlier_does_not_squeeze_percentiles():
    values = np.append(np.arange(1000.0), 1e9)
    assert scaled(values)[500] < 1e-6
    assert scaled(values, "percentile")[500] == pytest.approx(0.5, abs=0.01)
    assert scaled(values, "rank")[500] == 0.5


def test_the_classifier_learns_from_original_rows_alone(monkeypatch):
    seen = []
    fit = Linear.fit
    monkeypatch.setattr(
        Linear, "fit", lambda self, corpus, **named: seen.append(corpus) or fit(self, corpus, **named)
    )
    corpus = with_copies(tiny_corpus())
    order = np.random.default_rng(0).permutation(len(corpus.train))
    tw.augment(corpus.with_train(corpus.train.take(order)), "filter")
    assert [rows.train.same_as(tiny_corpus().train) for rows in seen] == [True]


def test_scores_are_to_be_had_from_python_and_are_those_that_the_filter_acts_by():
    corpus = with_copies(tiny_corpus())
    found = row_scores(corpus, seed=2)
    filtered = tw.augment(corpus, "filter", seed=2)
    assert len(filtered.train) - 120 == found.best(0.2).sum()
    assert np.array_equal(found.rows, np.arange(120, 360))
    assert np.array_equal(found.sources, found.rows % 120)
    again = row_scores(corpus, settings_from(FilterSettings, {"diversity": "kl_softmax"}), seed=2)
    assert np.array_equal(again.consistency, found.consistency)
    assert not np.allclose(again.diversity, found.diversity)


@pytest.mark.parametrize("diversity", ["bce", "kl_softmax"])
def test_soft_targets_odd_rows_and_label_texts_are_scored(diversity):
    corpus = tw.augment(with_copies(odd_corpus()), "gandalf")
    found = row_scores(corpus, settings_from(FilterSettings, {"diversity": diversity}))
    assert np.isfinite(found.scores).all()
    assert (found.sources[-4:] == -1).all()  # those of gandalf


def test_a_model_of_probabilities_and_one_of_log_odds_both_score(tmp_path):
    corpus = with_copies(tiny_corpus())
    for model in ("popularity", "label-matcher", "twin"):
        run = tw.train(tiny_corpus(), model, out=tmp_path / model, seed=0)
        scorer = scorer_for(augmenter("filter", {"run": str(tmp_path / model)}).scorer, corpus)
        top = scorer.log_odds(corpus.train.texts, 11)
        assert np.array_equal(top.ids, run.model.predict(corpus.train.texts, 11).ids)
        assert np.isfinite(top.scores[top.ids >= 0]).all()


def test_a_run_over_other_labels_is_refused(tmp_path):
    tw.train(odd_corpus(), "popularity", out=tmp_path / "run")
    with pytest.raises(InputError, match="found 11 labels, expected the 5 labels of"):
        tw.augment(with_copies(tiny_corpus()), "filter", settings={"run": str(tmp_path / "run")})


@pytest.mark.parametrize(
    ("augment", "settings", "line"),
    [
        (["filter"], {}, "filter acts on rows that methods before it made, and there are none"),
        (["mask", "gandalf"], {}, "mask acts on rows that methods before it made"),
        (["gandalf", "filter"], {"model": "liner"}, "unknown model 'liner'; did you mean 'linear'"),
        (["gandalf", "filter"], {"run": "nowhere"}, "nowhere: "),
        (["gandalf", "filter"], {"keep": 0}, r"keep must be in \(0, 1\], got 0"),
    ],
)
def test_what_cannot_work_is_said_before_any_work(tmp_path, augment, settings, line):
    with pytest.raises(InputError, match=line):
        tw.train(
            tiny_corpus(),
            "popularity",
            augment=augment,
            augment_settings={"filter": settings},
            out=tmp_path / "run",
        )
    assert list(tmp_path.iterdir()) == []


def test_a_run_counts_the_rows_that_were_dropped_and_logs_both_histograms(tmp_path):
    corpus = tw.augment(tiny_corpus(), SwapTwoWords())
    run = tw.train(corpus, "popularity", augment=["gandalf", "filter", "mask"], out=tmp_path / "run")
    loaded = tw.load(tmp_path / "run")
    assert [(one.name, one.rows) for one in loaded.augmentations] == [
        ("gandalf", 11),
        ("filter", run.augmentations[1].rows),
        ("mask", 0),
    ]
    assert run.augmentations[1].rows < 0
    assert loaded.rows_added == 11 + run.augmentations[1].rows
    assert loaded.train_rows == 120
    events = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    (logged,) = [event for event in events if event["event"] == "filter"]
    assert (logged["made"], -logged["dropped"]) == (131, run.augmentations[1].rows)
    assert [sum(logged[name]["rows"]) for name in ("diversity", "consistency")] == [131, 131]
    assert [event["phase"] for event in events if event["event"] == "end"] == [
        "gandalf",
        "filter",
        "mask",
        "fit",
    ]


def test_rows_that_count_in_the_labels_are_those_that_are_left():
    corpus = with_copies(tiny_corpus())
    run = tw.train(corpus, "popularity", augment=["filter", "mask"])
    refined = tw.augment(tw.augment(corpus, "filter"), "mask").train
    made = refined.take(np.flatnonzero(~refined.origin.is_original()))
    np.testing.assert_allclose(
        run.augmented_counts, corpus.labels.counts + made.learnt_targets().sum(axis=0), rtol=1e-6
    )


def test_trainings_that_share_their_work_train_one_classifier(tmp_path, monkeypatch):
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    corpus, fits = with_copies(tiny_corpus()), []
    fit = Linear.fit
    monkeypatch.setattr(
        Linear, "fit", lambda self, *given, **named: fits.append(1) or fit(self, *given, **named)
    )
    first, second, third = (
        tw.augment(corpus, "filter", settings={"keep": keep}).train for keep in (0.2, 0.2, 0.9)
    )
    assert len(fits) == 1
    assert first.same_as(second)
    assert len(third) > len(first)
    monkeypatch.delenv("TAILWRIGHT_SHARED")
    assert tw.augment(corpus, "filter").train.same_as(first)


def test_a_study_searches_what_is_kept_and_knows_the_code_of_the_classifier(tmp_path):
    cell = Cell(
        "toy",
        "data",
        "popularity",
        augment=("gandalf", "filter", "mask"),
        augment_settings={"mask": {"tail_below": 3}},
        search={"filter.keep": (0.2, 0.5)},
    )
    outcome = tried(cell, "key", Exam("toy", toy_corpus()), tmp_path)
    assert set(outcome.searched) == {"filter.keep=0.2", "filter.keep=0.5"}
    assert outcome.n_augmented > 0
    plain, by_twin = (
        code_of(replace(cell, augment_settings={"filter": {"model": model}}))
        for model in ("popularity", "twin")
    )
    assert plain != by_twin
