"""Synonyms of inflected words."""

from __future__ import annotations

from pathlib import Path

import pytest
from fresh_synonyms import fresh_arrays, same_arrays

from tailwright.data.synonyms import (
    Synonyms,
    build_synonyms,
    inflected_synonyms,
    no_synonyms,
    read_exceptions,
    synonym_arrays,
)
from tailwright.data.wordnet import WordNetDatabase, find_wordnet, load_wordnet


@pytest.fixture(scope="module")
def table(real_wordnet: WordNetDatabase) -> Synonyms:
    return inflected_synonyms(real_wordnet, read_exceptions(find_wordnet()))


def test_regular_forms_have_the_names_of_their_base_and_the_base_itself(small_files: Path) -> None:
    table = inflected_synonyms(load_wordnet(small_files), {})
    assert table["dogs"] == ("dog", "frank", "hot_dog", "domestic_dog", "Canis_familiaris", "chase")
    assert table["doging"] == ("dog", "chase")  # a verb alone has this ending
    assert table["larger"] == ("big", "large")
    assert "hugelyer" not in table


def test_a_base_form_keeps_what_it_has(
    small_files: Path, real_wordnet: WordNetDatabase, table: Synonyms
) -> None:
    wordnet = load_wordnet(small_files)
    small = inflected_synonyms(wordnet, {})
    assert {word: small[word] for word in ("dog", "big", "isle")} == {
        word: build_synonyms(wordnet)[word] for word in ("dog", "big", "isle")
    }
    lemmas = build_synonyms(real_wordnet)
    assert all(set(lemmas[word]) <= set(table[word]) for word in list(lemmas)[::97] if "_" not in word)


def test_exceptions_stand_in_for_endings(small_files: Path) -> None:
    wordnet = load_wordnet(small_files)
    table = inflected_synonyms(
        wordnet, {"n": {"dogs": ("cat",), "kine": ("animal", "nonsense")}, "v": {"dogs": ()}}
    )
    assert table["dogs"] == ("cat", "true_cat")
    assert table["kine"] == ("animal", "beast")


def test_real_words_have_the_base_forms_that_wordnet_gives_them(table: Synonyms) -> None:
    assert "child" in table["children"]
    assert {"glass", "spectacles"} <= set(table["glasses"])
    assert {"run", "operate"} <= set(table["running"])
    assert "good" in table["better"]
    assert "goodness" not in table["better"]  # a noun: only the adjective good has this form
    assert table.get("xyzzys") is None


def test_exceptions_are_read_where_they_are(small_files: Path) -> None:
    assert set(map(len, read_exceptions(small_files).values())) == {0}
    (small_files / "noun.exc").write_text("mice mouse\r\n\r\nlice louse lousse\r\n")
    assert read_exceptions(small_files)["n"] == {"mice": ("mouse",), "lice": ("louse", "lousse")}


def test_arrays_from_the_cache_are_those_that_were_kept(installed_small: Path, own_cache: Path) -> None:
    for inflections, folders in ((True, 1), (False, 2)):
        first, second = fresh_arrays(inflections), fresh_arrays(inflections)
        assert len(list(own_cache.iterdir())) == folders
        assert same_arrays(first, second)
    expected = synonym_arrays(build_synonyms(load_wordnet(installed_small)), "textattack")
    assert same_arrays(second, expected)
    assert len(no_synonyms().names) == 0
