"""Which pairs of rows a generator learns from, and which rows it writes for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from tailwright.augmentation import augmenter
from tailwright.augmentation.gda import GdaSettings
from tailwright.augmentation.shared.sources import SourceSettings, rows_to_augment
from tailwright.augmentation.shared.text_pairs import (
    PairsAndSources,
    PairSettings,
    pairs_and_sources,
    same_labels,
)
from tailwright.data.corpus import Corpus, corpus_from_lists
from tailwright.data.dataset import Origin
from tailwright.data.pairs import pairs_from_lists
from tailwright.data.text.similarity import similar_pairs
from tailwright.settings import settings_from
from tailwright.streams import stream

EVERY = {"rows": "all", "sources": "all"}


def drawn(corpus: Corpus, *, seed: int = 0, workers: int = 1, **settings: object) -> PairsAndSources:
    """The pairs and sources of gda under these settings, by their short names."""
    chosen = settings_from(GdaSettings, settings)
    return pairs_and_sources(corpus, chosen.selection, chosen.pairs, seed=seed, workers=workers)


def text(row: int, words: int = 6) -> str:
    """Words that no other row has."""
    return " ".join(f"r{row}w{i}" for i in range(words))


def corpus_of(sets: list[list[int]], texts: list[str] | None = None) -> Corpus:
    labels = 1 + max((label for ids in sets for label in ids), default=0)
    names = [f"label {i}" for i in range(labels)]
    return corpus_from_lists(texts or [text(row) for row in range(len(sets))], sets, names)


def pairs(found: PairsAndSources) -> list[tuple[int, int]]:
    return list(zip(found.firsts.tolist(), found.seconds.tolist(), strict=True))


def test_pairs_have_exactly_the_same_labels():
    corpus = corpus_of([[0], [0, 1], [1, 0], [0], [1], [], [], [0, 1, 2]])
    assert sorted(pairs(drawn(corpus, **EVERY))) == [(0, 3), (1, 2), (2, 1), (3, 0)]


def test_soft_values_do_not_matter_for_the_labels_being_the_same():
    corpus = corpus_of([[0, 1], [0, 1]])
    targets = pairs_from_lists([[0, 1], [0, 1]], 2, [[1.0, 0.25], [0.5, 1.0]])
    soft = corpus.with_train(replace(corpus.train, targets=targets))
    assert pairs(drawn(soft, **EVERY)) == [(0, 1), (1, 0)]


def test_texts_of_4_and_of_201_words_are_dropped_and_of_5_and_200_kept():
    texts = [text(row, words) for row, words in enumerate([4, 5, 200, 201])]
    found = drawn(corpus_of([[0]] * 4, texts), **EVERY)
    assert pairs(found) == [(1, 2), (2, 1)]
    assert found.sources.tolist() == [1, 2]
    assert found.fit == 2


def test_identical_and_nearly_identical_texts_are_no_pair():
    long = text(0, 60)
    twins = [long, long, long.replace("r0w7 ", ""), long.replace("r0w7", "new")]
    for other, dropped in [(twins[1], True), (twins[2], True), (twins[3], True), (text(1, 60), False)]:
        found = drawn(corpus_of([[0], [0]], [long, other]), **EVERY)
        assert (len(found.firsts), found.too_similar) == ((0, 2) if dropped else (2, 0))
    twice = corpus_of([[0], [0]], [long, long])
    assert len(drawn(twice, **EVERY, max_ratio=1.0).firsts) == 2


def test_rows_of_omitted_labels_and_made_rows_make_no_pairs():
    corpus = corpus_of([[0], [0], [1], [1], [2], [2]])
    codes = np.array([0, 0, 0, 0, 0, 1], dtype=np.int16)
    made = corpus.with_train(replace(corpus.train, origin=Origin(np.arange(6), codes, ("", "eda"))))
    assert pairs(drawn(made, **EVERY, omit_labels=("0",))) == [(2, 3), (3, 2)]


def test_a_row_draws_as_many_others_as_asked_and_there_are():
    found = pairs(drawn(corpus_of([[0]] * 4 + [[1]] * 2), **EVERY, targets_per_source=3))
    assert len(set(found)) == 4 * 3 + 2
    assert all(a != b for a, b in found)


def test_a_set_of_labels_has_no_more_pairs_than_its_cap():
    corpus = corpus_of([[0]] * 300 + [[1]] * 20)
    found = drawn(corpus, **EVERY)
    assert [sum(first < 300 for first in found.firsts), len(found.firsts)] == [100, 120]
    few = drawn(corpus, **EVERY, pairs_per_set=5)
    assert sum(first < 300 for first in few.firsts) == 5
    assert set(pairs(few)) < set(pairs(found))


def test_the_cap_is_filled_with_pairs_that_differ():
    texts = ["the very same words here"] * 50 + [text(row) for row in range(50)]
    found = drawn(corpus_of([[0]] * 100, texts), **EVERY, pairs_per_set=40)
    assert found.too_similar > 0
    assert len(found.firsts) == 40


def test_max_pairs_and_max_rows_are_drawn_by_the_seed_and_nested():
    corpus = corpus_of([[row % 50] for row in range(400)])
    some, more = (drawn(corpus, **EVERY, max_pairs=30, max_rows=rows) for rows in (40, 80))
    assert (len(some.firsts), len(some.sources), len(more.sources)) == (30, 40, 80)
    assert set(pairs(some)) < set(pairs(drawn(corpus, **EVERY)))
    assert set(some.sources) < set(more.sources)
    other = drawn(corpus, **EVERY, max_pairs=30, max_rows=40, seed=1)
    assert pairs(other) != pairs(some)
    assert other.sources.tolist() != some.sources.tolist()
    assert len(set((some.firsts % 50).tolist())) > 15  # over the label sets, not the first few


def test_one_half_makes_pairs_and_the_other_is_written_for():
    corpus = corpus_of([[row % 50] for row in range(2000)])
    found = drawn(corpus, rows="all", seed=2)
    readers = set(found.firsts.tolist()) | set(found.seconds.tolist())
    assert readers.isdisjoint(found.sources.tolist())
    assert abs(len(found.sources) - 1000) < 80
    # The same half that half of the rows means for every other method.
    for rows in ("all", 0.5):
        half = rows_to_augment(corpus, SourceSettings(rows=0.5), seed=2)
        again = drawn(corpus, rows=rows, seed=2)
        assert again.sources.tolist() == half.tolist()


def test_edits_with_the_same_selection_have_the_sources_of_gda():
    corpus = corpus_of([[row % 4] for row in range(30)])
    selection = {"rows": "all", "max_words": 60, "max_rows": 7}
    edits = augmenter("eda", {**selection, "operations": ("swap",)})
    for seed in range(3):
        found = drawn(corpus, seed=seed, sources="all", **selection)
        assert len(found.sources) == 7
        assert edits.new_rows(corpus, seed=seed).origin.rows.tolist() == found.sources.tolist()


def test_pairs_come_from_all_rows_where_sources_are_of_the_tail_alone():
    corpus = corpus_of([[0]] * 100 + [[1]] * 3)
    found = drawn(corpus, tail_below=10, sources="all")
    assert found.sources.tolist() == [100, 101, 102]
    assert (found.firsts < 100).sum() == 100


def test_neither_the_order_of_rows_nor_workers_change_anything():
    corpus = corpus_of([[row % 30] for row in range(300)])
    order = stream(0, "order").permutation(300)
    shuffled = corpus.with_train(corpus.train.take(order))
    settings = {"rows": "all", "max_pairs": 60, "max_rows": 50, "targets_per_source": 2}
    plain = drawn(corpus, **settings, seed=4)
    turned = drawn(shuffled, **settings, seed=4, workers=2)
    for name in ("firsts", "seconds", "sources"):
        assert order[getattr(turned, name)].tolist() == getattr(plain, name).tolist()
    assert (turned.fit, turned.too_similar) == (plain.fit, plain.too_similar)


@given(corpora(), st.integers(1, 3))
def test_any_corpus_gives_pairs_that_keep_the_rules(corpus, count):
    found = drawn(corpus, **EVERY, min_words=0, targets_per_source=count)
    train = corpus.train
    for a, b in pairs(found):
        assert a != b
        assert train.targets[[a]].indices.tolist() == train.targets[[b]].indices.tolist() != []
    assert not similar_pairs(train.texts, found.firsts, found.seconds, 0.95).any()


def test_no_rows_and_no_shared_labels_give_no_pairs():
    empty = corpus_of([[0], [1]]).with_train(corpus_of([[0], [1]]).train.take([]))
    for corpus in (empty, corpus_of([[0], [1], [0, 1]])):
        assert pairs(drawn(corpus, **EVERY)) == []
    assert same_labels(pairs_from_lists([[0], [1]], 2), np.arange(2)) == []


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"sources": "third"}, "sources must be one of half, all, got 'third'"),
        ({"max_pairs": 0}, "max_pairs must be >= 1 or none, got 0"),
        ({"targets_per_source": 0}, "targets_per_source must be >= 1, got 0"),
        ({"max_ratio": 1.5}, r"max_ratio must be in \(0, 1\], got 1.5"),
    ],
)
def test_a_wrong_setting_is_named(wrong, line):
    with pytest.raises(ValueError, match=line):
        PairSettings(**wrong)


def test_a_wrong_choice_of_rows_is_named():
    with pytest.raises(ValueError, match="min_words must be >= 0"):
        SourceSettings(min_words=-1)
