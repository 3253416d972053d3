"""EDA and WordNet: what edits change, what they leave alone, and what becomes of a row's other columns."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tailwright.augmentation import augmenter, row_augmenter
from tailwright.augmentation.shared.edits import OPERATIONS, EditSettings, edited_texts
from tailwright.augmentation.xda import Xda
from tailwright.checks import check_augmenter
from tailwright.checks.corpora import odd_corpus, tiny_corpus
from tailwright.data.corpus import corpus_from_lists
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.synonyms import synonym_arrays
from tailwright.data.text.stop_words import ENGLISH, PLAIN
from tailwright.errors import InputError
from tailwright.runs import augment
from tailwright.streams import stream_key

SMALL = {"car": ("auto", "machine"), "red": ("crimson",), "very": ("really",), "in": ("indium",)}


def edits(text: str, operation: str, times: int = 200, **settings: object) -> set[str]:
    """All the texts that so many draws of one operation make of a text."""
    made, _ = edited_texts(
        arrow_strings([text] * times),
        np.arange(times),
        (operation,),
        EditSettings(**settings),  # type: ignore[arg-type]
        key=stream_key(0, "test"),
        synonyms=synonym_arrays(SMALL, str(settings.get("variant", "textattack"))),
    )
    return set(made.to_pylist())


EVERY_ROW = {"rows": "all", "min_words": 0, "max_words": 10**6}


@pytest.mark.parametrize("change", [{}, {"variant": "original"}, {"outputs": 6, "share": 0.5}, {"rows": 0.5}])
def test_they_keep_the_contract_of_augmenters(change):
    for name in ("eda", "wordnet"):
        check_augmenter(augmenter(name, {**EVERY_ROW, **change}))


def test_capitals_punctuation_and_spaces_around_an_edit_stay():
    made = edits("A  Red,\tCAR (car)!\n", "synonyms")
    assert made == {
        "A  Crimson,\tCAR (car)!\n",
        "A  Red,\tAUTO (car)!\n",
        "A  Red,\tMACHINE (car)!\n",
        "A  Red,\tCAR (auto)!\n",
        "A  Red,\tCAR (machine)!\n",
    }


def test_a_deleted_word_takes_one_space_with_it():
    assert edits("big (red) car, ok.", "delete") == {
        "(red) car, ok.",
        "big () car, ok.",
        "big (red), ok.",
        "big (red) car,.",
    }
    assert edits("red car", "delete") == {"red", "car"}
    assert edits("one\ntwo three", "delete") == {"\ntwo three", "one\nthree", "one\ntwo"}


def test_an_insertion_stands_behind_a_word():
    assert edits("red, dog", "insert") == {"red crimson, dog", "red, dog crimson"}


def test_a_swap_exchanges_two_words_and_nothing_else():
    assert edits("a, b; c!", "swap") == {"b, a; c!", "c, b; a!", "a, c; b!"}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("variant", ["textattack", "original"])
@pytest.mark.parametrize("text", ["", " ", "?!", "🎉 👩\u200d🔬", "\u0301", "'-'"])
def test_texts_without_words_give_no_row(operation, variant, text):
    assert edits(text, operation, variant=variant) == set()


@pytest.mark.parametrize("share", [0.1, 1.0])
@pytest.mark.parametrize("variant", ["textattack", "original"])
def test_deletion_never_empties_a_text(variant, share):
    assert edits("word", "delete", variant=variant, share=share) == set()
    made = edits("one two three", "delete", variant=variant, share=share)
    assert made
    assert all(re.search("one|two|three", text) for text in made)


def test_words_of_other_scripts_are_moved_whole():
    assert edits("हिन्दी भाषा", "swap") == {"भाषा हिन्दी"}
    assert edits("日本語 テキスト", "delete") == {"日本語", "テキスト"}
    assert edits("日本語 テキスト", "synonyms") == set()


def test_synonyms_never_replace_a_stop_word():
    assert edits("very in the dog", "synonyms") == set()
    assert edits("Very In the dog", "synonyms") == {"Really In the dog", "Very Indium the dog"}
    assert edits("Very In the dog", "synonyms", stop_words="any-case") == set()
    assert edits("very the dog", "synonyms", stop_words="none") == {"really the dog"}
    assert (len(PLAIN), len(ENGLISH), len(set(ENGLISH))) == (127, 179, 179)


@pytest.mark.parametrize(
    ("words", "share", "changed"), [(9, 0.1, 1), (29, 0.1, 2), (100, 0.29, 29), (4, 1.0, 4)]
)
def test_the_share_of_changed_words_is_rounded_down_but_never_to_none(words, share, changed):
    text = " ".join(["car"] * words)
    assert {t.split().count("car") for t in edits(text, "synonyms", share=share)} == {words - changed}
    if share < 1:
        assert {len(t.split()) for t in edits(text, "delete", share=share)} == {words - changed}
        assert {len(t.split()) for t in edits(text, "insert", share=share)} == {words + changed}


def test_the_original_variant_cleans_and_replaces_a_word_wherever_it_stands():
    made = edits("The RED car's red Car, très 9!", "synonyms", variant="original")
    assert made == {
        "the crimson cars crimson car tr s",
        "the red cars red auto tr s",
        "the red cars red machine tr s",
    }


def test_rows_by_several_operations_are_dealt_evenly():
    text = "red car one two three four"
    made, sources = edited_texts(
        arrow_strings([text] * 50),
        np.arange(50),
        ("swap", "delete"),
        EditSettings(outputs=2),
        key=stream_key(0, "test"),
    )
    assert sources.tolist() == [i // 2 for i in range(100)]
    lengths = np.array([len(t.split()) for t in made.to_pylist()]).reshape(50, 2)
    assert np.sort(lengths, axis=1).tolist() == [[5, 6]] * 50


def test_no_output_of_a_row_is_there_twice_or_is_the_source():
    text = "red car"
    made, _ = edited_texts(
        arrow_strings([text]), np.arange(1), ("swap",), EditSettings(outputs=9), key=stream_key(0, "test")
    )
    assert made.to_pylist() == ["car red"]


def test_new_rows_have_the_other_columns_of_their_source():
    corpus = odd_corpus()
    chosen = row_augmenter("eda", {"rows": "all", "min_words": 2, "operations": "swap"})
    made = chosen.new_rows(corpus, seed=2)
    assert made.origin.rows.tolist() == [2, 3, 4, 5, 7]
    assert made.texts.to_pylist()[:2] == ["bridge apple"] * 2
    assert made.same_as(replace(corpus.train.take([2, 3, 4, 5, 7]), texts=made.texts, origin=made.origin))
    grown = augment(corpus, chosen, seed=2)
    assert grown.train.weights[-5:].tolist() == (corpus.train.weights[[2, 3, 4, 5, 7]] / 2).tolist()


def test_rows_of_other_augmentations_are_no_sources():
    corpus = tiny_corpus()
    chosen = row_augmenter("wordnet", EVERY_ROW)
    made = chosen.new_rows(corpus)
    assert len(made) > 100
    again = chosen.new_rows(corpus.with_train(Dataset.concat([made, corpus.train])))
    assert again.same_as(made)


def test_max_rows_draws_the_same_sources_for_every_method():
    corpus, settings = tiny_corpus(), {**EVERY_ROW, "max_rows": 20, "operations": "swap"}
    few = set(row_augmenter("eda", settings).new_rows(corpus, seed=1).origin.rows.tolist())
    rewriting = row_augmenter("xda", {**Xda.quick, "max_rows": 20})
    assert few == set(rewriting.new_rows(corpus, seed=1).origin.rows.tolist())
    more = row_augmenter("eda", {**settings, "max_rows": 40}).new_rows(corpus, seed=1)
    assert few < set(more.origin.rows.tolist())


def test_operations_without_synonyms_need_no_wordnet(monkeypatch):
    def fail(*_: object) -> None:
        raise AssertionError("asked for WordNet")

    monkeypatch.setattr("tailwright.augmentation.shared.edits.wordnet_arrays", fail)
    corpus = corpus_from_lists(["one two three four five six"], [[0]], ["x"])
    assert len(row_augmenter("eda", {"operations": "swap, delete"}).new_rows(corpus)) == 1
    with pytest.raises(AssertionError, match="asked for WordNet"):
        row_augmenter("eda").new_rows(corpus)


def test_settings_come_from_text_and_from_lists():
    chosen = augmenter("eda", {"operations": "swap, delete", "rows": "0.25", "omit_labels": ["a, b", "c"]})
    assert chosen.settings.operations == ("swap", "delete")
    assert chosen.settings.selection.rows == 0.25
    assert chosen.settings.selection.omit_labels == ("a, b", "c")
    assert augmenter("wordnet", {"rows": "all"}).settings.selection.rows == "all"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": "head"}, "setting rows: found 'head', expected one of tail, all or a number"),
        ({"rows": 1.5}, r"rows must be tail, all or a number in \(0, 1\], got 1.5"),
        ({"share": 0}, r"share must be in \(0, 1\], got 0.0"),
        ({"outputs": 0}, "outputs must be in \\[1, 10000\\], got 0"),
        ({"variant": "new"}, "setting variant: found 'new', expected one of textattack, original"),
        (
            {"operations": "swap,turn"},
            "operations: found 'turn', expected one of synonyms, insert, swap, delete",
        ),
        ({"operations": "swap,swap"}, "operations must differ, got swap, swap"),
        ({"operations": ""}, "operations must be one or more of synonyms, insert, swap, delete, got none"),
        ({"operations": 3}, "setting operations: found 3, expected a list"),
        ({"tail_below": 0}, "tail_below must be >= 1, got 0"),
        ({"omit_share": 0}, r"omit_share must be in \(0, 1\], got 0.0"),
        ({"min_words": -1}, "min_words must be >= 0, got -1"),
        ({"max_words": 4}, r"max_words must be >= min_words \(5\), got 4"),
    ],
)
def test_wrong_settings_are_named(change, message):
    with pytest.raises(InputError, match=message):
        augmenter("eda", change)


@pytest.mark.parametrize(("name", "value"), [("variant", "new"), ("stop_words", "all")])
def test_a_wrong_choice_is_named_when_settings_are_made_in_python(name, value):
    with pytest.raises(ValueError, match=f"{name} must be one of .*, got '{value}'"):
        EditSettings(**{name: value})


@pytest.fixture
def capital_synonyms(monkeypatch):
    """WordNet in which the only synonym of some words is the same word, written otherwise."""
    arrays = synonym_arrays({"java": ["Java"], "hat": ["cap"], "hi-fi": ["HI-FI"]}, "textattack")
    monkeypatch.setattr("tailwright.augmentation.shared.edits.wordnet_arrays", lambda *_: arrays)


def test_a_row_that_differs_in_capitals_or_punctuation_only_is_left_out_and_counted(capital_synonyms, caplog):
    corpus = corpus_from_lists(["java", "a hat", "java"], [[0], [1], [2]], ["a", "b", "c"])
    settings = {"operations": "synonyms", **EVERY_ROW}
    with caplog.at_level("INFO"):
        rows = row_augmenter("eda", settings).new_rows(corpus)
    assert rows.texts.to_pylist() == ["a cap"]
    assert "eda: 2 texts are left out: only capitals, marks or spaces differ" in caplog.text
    as_the_paper = row_augmenter("eda", {**settings, "same_words": "true"}).new_rows(corpus)
    assert as_the_paper.texts.to_pylist() == ["Java", "a cap", "Java"]


def test_a_swap_of_words_that_differ_in_capitals_only_makes_no_row():
    corpus = corpus_from_lists(["Bridge : the bridge"] * 40, [[0]] * 40, ["a"])
    made = row_augmenter("eda", {"operations": "swap", **EVERY_ROW}).new_rows(corpus)
    texts = set(made.texts.to_pylist())
    assert "the : Bridge bridge" in texts
    assert "bridge : the Bridge" not in texts
    as_the_paper = row_augmenter("eda", {"operations": "swap", "same_words": "true", **EVERY_ROW})
    assert "bridge : the Bridge" in as_the_paper.new_rows(corpus).texts.to_pylist()
