"""Each figure of new texts, on corpora small enough to count by hand."""

from __future__ import annotations

from difflib import SequenceMatcher

import numpy as np
import pytest
from augmented_rows import augmented
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from strategies import texts as any_texts

from tailwright.data.text.words import split_words
from tailwright.study.quality.figures import quality_of
from tailwright.study.quality.sources import pairings
from tailwright.study.quality.texts import Measured, Spread, equal_to_training, measure


def measured(originals, new, seed: int = 0) -> Measured:
    corpus = augmented(originals, new)
    return measure(corpus.train, pairings(corpus)[0], seed)


def test_distinct_ngrams_are_counted_in_equally_many_of_both_sides():
    found = measured(["a b a b"], [("a b c d e f", 0)])
    # Sources: a b a b. New, its first four words, three pairs and two triples: a b c d.
    assert found.sources.distinct == {1: 50, 2: pytest.approx(200 / 3), 3: 100}
    assert found.new.distinct == {1: 100, 2: 100, 3: 100}


def test_a_source_of_several_new_rows_counts_once_and_with_one_of_them():
    found = measured(["a b c d"], [("a b c d", 0)] * 3)
    assert found.sources.texts == 1
    assert found.new.texts == 3
    assert found.new.distinct == found.sources.distinct == {1: 100, 2: 100, 3: 100}
    assert found.sources.self_bleu is None


def test_copied_ngrams_are_those_that_the_source_has_however_often():
    found = measured(["a b c d"], [("A b, a b x", 0)])
    # Words a b a b x: four of five. Pairs ab ba ab bx: two of four. Triples aba bab abx: none.
    assert found.pairs.copied == {1: 80, 2: 50, 3: 0, 4: 0}
    assert found.pairs.pairs == 1


def test_bleu_against_the_sources_is_that_of_sacrebleu():
    originals = ["the red car stood in the yard", "a boat", "one two three four five six"]
    new = [("the red red car stood in a yard", 0), ("boat", 1), ("one two three four six", 2), ("", 2)]
    lines = [" ".join(split_words(text)) for text, _ in new]
    references = [" ".join(split_words(originals[source])) for _, source in new]
    expected = BLEU(tokenize="none", effective_order=True).corpus_score(lines, [references]).score
    assert measured(originals, new).pairs.bleu == pytest.approx(expected)
    assert expected > 10


def test_words_are_counted_on_both_sides():
    found = measured(["one", "one two three"], [("one, TWO", 0), ("", 1)])
    assert found.new.words == Spread(1.0, pytest.approx(0.2), 1.0, pytest.approx(1.8))
    assert found.sources.words == Spread(2.0, pytest.approx(1.2), 2.0, pytest.approx(2.8))


def test_similarity_is_the_ratio_of_difflib_over_words():
    found = measured(["a b c d", "x y"], [("a b d c", 0), ("X, y!", 1)])
    ratio = SequenceMatcher(None, list("abcd"), list("abdc"), autojunk=False).ratio()
    assert found.ratios.tolist() == [ratio, 1.0]
    assert found.pairs.similarity.mean == (ratio + 1) / 2
    assert found.pairs.same_words == 50


def test_a_text_that_goes_round_in_circles_is_found():
    found = measured(["a b c d e f"], [("no no no no no no", 0), ("a b c d e f", 0)])
    assert found.new.looping == 50
    assert found.sources.looping == 0
    # The first has 6, 5, 4, 3 n-grams of which one is new each time, the second repeats none.
    expected = {n: pytest.approx(100 * (6 - n) / (2 * (7 - n))) for n in (1, 2, 3, 4)}
    assert found.new.repeated == expected
    assert found.sources.repeated == dict.fromkeys((1, 2, 3, 4), 0)


def test_self_bleu_is_measured_on_both_sides():
    found = measured(["a b c d", "e f g h"], [("same old words here", 0), ("same old words here", 1)])
    assert found.new.self_bleu == pytest.approx(100)
    assert found.sources.self_bleu == 0


def test_texts_that_were_there_before_are_counted_letter_by_letter():
    corpus = augmented(["red hat", "blue shoe"], [("red hat", 1), ("Red hat", 0), ("green", 0), ("green", 1)])
    assert equal_to_training(corpus.train, pairings(corpus)[0]) == (25, 25)


def test_rows_without_their_source_are_measured_alone():
    found = quality_of(augmented(["a b"], [("a b", 0), ("c d e", 7)])).methods[0]
    assert (found.rows, found.without_source) == (2, 1)
    assert found.new.words.mean == 2.5
    assert found.pairs.pairs == 1
    assert found.pairs.copied == {1: 100, 2: 100}
    alone = quality_of(augmented(["a b"], [("c d e", 7)])).methods[0]
    assert (alone.sources, alone.pairs) == (None, None)
    assert alone.new.distinct == {1: 100, 2: 100, 3: 100}
    assert alone.examples[0].source is None


@given(
    st.lists(any_texts, min_size=1, max_size=4),
    st.lists(st.tuples(any_texts, st.integers(0, 5)), min_size=1, max_size=6),
    st.integers(0, 3),
)
def test_any_texts_at_all_can_be_measured(originals, new, seed):
    corpus = augmented(originals, new)
    found = quality_of(corpus, seed=seed).methods[0]
    pairs = [(originals[source], text) for text, source in new if source < len(originals)]
    assert found.without_source == len(new) - len(pairs)
    ratios = [SequenceMatcher(None, split_words(a), split_words(b), autojunk=False).ratio() for a, b in pairs]
    if pairs:
        assert found.pairs.similarity.mean == pytest.approx(np.mean(ratios))
        assert found.pairs.same_words == pytest.approx(
            100 * np.mean([split_words(a) == split_words(b) for a, b in pairs])
        )
    else:
        assert found.pairs is None


def test_the_same_seed_measures_the_same_and_another_draws_another_sample():
    originals = [f"w{i} w{i % 7} w{i % 11}" for i in range(40)]
    new = [(f"{text} more{i * side % 5}", i) for side in (1, 2) for i, text in enumerate(originals)]
    assert measured(originals, new, 1).new == measured(originals, new, 1).new
    assert measured(originals, new, 1).new.self_bleu != measured(originals, new, 2).new.self_bleu
    assert measured(originals, new, 1).pairs == measured(originals, new, 2).pairs
