"""Similarities of queries: partners are of their kind, draws are seeded, missing kinds left out."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.data import Corpus, Dataset, LabelSpace, Origin
from tailwright.data.dataset import arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.models.popularity import Popularity
from tailwright.runs.run import Run
from tailwright.study.quality.similarity import HEAD, KINDS, MIXED, RANDOM, SHARED, TAIL, similarities

# Label 0 has 60 rows, label 1 has three, label 2 one and no text; row i has a word of its own.
ROWS = [[0]] * 57 + [[0, 1]] * 3 + [[2]]
LABEL_TEXTS = ["head", "tail", " "]


class Words(Popularity):
    """A text's vector is the word counts of its text, as a unit vector; the first word stands for its row."""

    asked: list[list[str]]

    def text_vectors(self, texts):
        self.asked.append(texts.to_pylist())
        known = [*(f"row{i}" for i in range(len(ROWS))), "head", "tail", "old"]
        found = np.array(
            [[text.split().count(word) for word in known] for text in texts.to_pylist()], np.float32
        )
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


def corpus_of(texts: list[str], ids: list[list[int]], **more) -> Corpus:
    names = arrow_strings(["a", "b", "c"])
    rows = Dataset(arrow_strings(texts), pairs_from_lists(ids, 3), **more)
    return Corpus(rows, LabelSpace(names, names, arrow_strings(LABEL_TEXTS)))


def run_of(corpus: Corpus) -> Run:
    model = Words()
    model.asked = []
    return Run(model, corpus.labels, len(corpus.train))


@pytest.fixture
def corpus() -> Corpus:
    return corpus_of([f"row{i} old" for i in range(len(ROWS))], ROWS)


def test_each_kind_is_held_against_its_own_texts(corpus):
    run = run_of(corpus)
    found = similarities(run, corpus, seed=3)
    assert list(found) == list(KINDS)
    _, queries, randoms, shared, heads, tails, mixed = run.model.asked
    assert len(queries) == len(randoms) == 61
    assert all(query != other for query, other in zip(queries, randoms, strict=True))
    # The row of label 2 shares it with none.
    labelled = queries[:60]
    assert len(shared) == 60
    assert all(query != other for query, other in zip(labelled, shared, strict=True))
    assert set(shared) <= set(labelled)
    assert (heads, tails) == (["head"] * 60, ["tail"] * 3)
    # A label without text is never appended.
    assert [text.rsplit(" ", 1)[0] for text in mixed] == labelled
    assert set(mixed[57:]) <= {f"row{i} old {text}" for i in (57, 58, 59) for text in ("head", "tail")}
    np.testing.assert_allclose(found[SHARED], 0.5, rtol=1e-6)
    np.testing.assert_allclose(found[MIXED], 2 / np.sqrt(6), rtol=1e-6)
    np.testing.assert_allclose(found[HEAD], 0, atol=1e-6)


def test_rare_labels_are_mixed_more_often(corpus):
    tails = 0
    for seed in range(40):
        run = run_of(corpus)
        similarities(run, corpus, seed=seed)
        tails += sum(text.endswith("tail") for text in run.model.asked[-1])
    # By n^-0.5 the tail label has (1 / 3)^0.5 / ((1 / 3)^0.5 + (1 / 60)^0.5) = 82 % of the 120 draws.
    assert 85 <= tails <= 112


def test_the_seed_decides_and_nothing_else(corpus):
    first, again, other = (similarities(run_of(corpus), corpus, seed, 20) for seed in (0, 0, 1))
    assert all(np.array_equal(first[kind], again[kind]) for kind in first)
    assert len(first[RANDOM]) == 20
    assert any(len(first[kind]) != len(other.get(kind, ())) for kind in first) or any(
        not np.array_equal(first[kind], other[kind]) for kind in first
    )


def test_rows_of_augmentations_are_never_asked_about(corpus):
    added = Dataset(
        arrow_strings(["made"]), pairs_from_lists([[0]], 3), origin=Origin.made_by("gandalf", np.array([0]))
    )
    run = run_of(corpus)
    similarities(run, corpus.with_train(Dataset.concat([corpus.train, added])))
    assert not any("made" in text for texts in run.model.asked for text in texts)


def test_kinds_that_no_query_has_are_left_out():
    alone = corpus_of(["row0 old"], [[1]])
    found = similarities(run_of(alone), alone)
    assert list(found) == [TAIL, MIXED]
    assert similarities(run_of(alone), alone.with_train(alone.train.take([]))) == {}


def test_a_model_without_text_vectors_gives_nothing(corpus):
    assert similarities(Run(Popularity(), corpus.labels, len(corpus.train)), corpus) == {}
    with pytest.raises(ValueError, match="queries must be >= 1, got 0"):
        similarities(run_of(corpus), corpus, queries=0)
