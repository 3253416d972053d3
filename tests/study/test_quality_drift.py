"""Label drift, with a model whose answers are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from augmented_rows import augmented

from tailwright.data.corpus import Corpus
from tailwright.errors import InputError
from tailwright.evaluation import TopK
from tailwright.evaluation.metrics import sliced_metrics
from tailwright.labels import head_torso_tail
from tailwright.runs.facts import AppliedAugmentation, TrainingData
from tailwright.runs.run import Run
from tailwright.study.quality.figures import quality_of

LETTERS = "xyz"


class Reader:
    """Gives the labels whose letters a text holds, in that order, then the others."""

    def predict(self, texts, k):
        ids = []
        for text in texts:
            said = [LETTERS.index(letter) for letter in str(text) if letter in LETTERS]
            ids.append((said + [i for i in range(3) if i not in said])[:k])
        return TopK(np.array(ids, dtype=np.int32), np.zeros((len(ids), k), dtype=np.float32))

    def predict_besides(self, texts, k, excluded):
        return self.predict(texts, k)


def reading(corpus: Corpus) -> Run:
    return Run(Reader(), corpus.labels, train_rows=int(corpus.train.origin.is_original().sum()))


@pytest.fixture
def corpus() -> Corpus:
    """Row 0 has x and y, row 1 has z; of the new rows the first keeps both, the second turns z into x."""
    return augmented(["x y", "z"], [("y x", 0), ("x", 1)], labels=[[0, 1], [2]])


def test_labels_of_the_source_are_looked_for_in_both(corpus):
    drift = quality_of(corpus, reading(corpus)).methods[0].drift
    assert drift.pairs == 2
    before, after = drift.sources["all"], drift.new["all"]
    assert (before["P@1"], before["P@n"], before["all@n"]) == (100, 100, 100)
    # y is right; of x y all are found, of z none.
    assert (after["P@1"], after["P@n"], after["all@n"]) == (50, 50, 50)
    assert before["P@3"] == after["P@3"] == pytest.approx(50)  # three of three labels each time: (2 + 1) / 6
    assert before["P@5"] == pytest.approx(100 * 3 / 10)
    assert drift.same == 50


def test_slices_follow_the_metrics_of_the_house(corpus):
    run = reading(corpus)
    run = replace(run, labels=run.labels.with_counts(np.array([100, 20, 2])), train_rows=200)
    drift = quality_of(corpus, run).methods[0].drift
    assert list(drift.new) == ["all", "head", "torso", "tail"]
    assert {name: part["rows"] for name, part in drift.new.items()} == {
        "all": 2,
        "head": 1,
        "torso": 1,
        "tail": 1,
    }
    assert {name: part["P@n"] for name, part in drift.new.items()} == {
        "all": 50,
        "head": 100,
        "torso": 100,
        "tail": 0,
    }
    new = corpus.train.take([2, 3])
    top = run.model.predict(new.texts, 3)
    slices = head_torso_tail(run.labels.counts)
    for name, part in sliced_metrics(top, new.targets, None, slices, (1, 3, 5)).items():
        if part["rows"]:
            for k in (1, 3, 5):
                assert drift.new[name][f"P@{k}"] == pytest.approx(part[f"P@{k}"])


def test_a_model_that_was_trained_on_the_sources_or_the_new_rows_is_known(corpus):
    run = reading(corpus)
    drift = quality_of(corpus, run).methods[0].drift
    assert (drift.seen_sources, drift.seen_new) == (True, False)
    other = replace(
        run,
        labels=run.labels.with_counts(np.array([1, 1, 2])),
        augmentations=(AppliedAugmentation(name="toy"),),
    )
    drift = quality_of(corpus, other).methods[0].drift
    assert (drift.seen_sources, drift.seen_new) == (False, True)
    same_place = replace(run, data=TrainingData(path="data/../here"))
    drift = quality_of(replace(corpus, source="here"), same_place).methods[0].drift
    assert drift.seen_new


def test_rows_without_labels_or_source_do_not_drift():
    corpus = augmented(["x", "y"], [("x", 0), ("z", 9)], labels=[[], [1]])
    assert quality_of(corpus, reading(corpus)).methods[0].drift is None


def test_excluded_labels_are_neither_right_nor_wrong(corpus):
    excluded = corpus.train.targets.copy()
    excluded.data[:] = [1, 0, 0] + [0] * (excluded.nnz - 3)
    excluded.eliminate_zeros()
    corpus = corpus.with_train(replace(corpus.train, excluded=excluded))
    drift = quality_of(corpus, reading(corpus)).methods[0].drift
    # Without x, row 0 has y alone: the first label of "x y" that counts.
    assert drift.sources["all"]["P@n"] == 100
    assert drift.new["all"]["P@1"] == 50


def test_examples_say_what_the_model_gives(corpus):
    shown = quality_of(corpus, reading(corpus)).methods[0].examples
    by_text = {example.new: example for example in shown}
    assert [(g.name, g.right) for g in by_text["x"].new_guesses][:1] == [("x", False)]
    assert [(g.name, g.right) for g in by_text["x"].source_guesses][:1] == [("z", True)]


def test_a_run_over_other_labels_is_refused(corpus):
    other = augmented(["x"], [("x", 0)], names=("a", "b"))
    with pytest.raises(InputError, match="found 3 labels, expected the 2 labels of the run"):
        quality_of(corpus, reading(other))
