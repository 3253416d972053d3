"""The table of synonyms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fresh_synonyms import fresh_arrays, same_arrays

from tailwright.data.synonyms import Synonyms, build_synonyms, one_word_names, synonym_arrays
from tailwright.data.wordnet import WordNetDatabase, load_wordnet


def test_synonyms_are_the_other_names_of_all_synsets_commonest_sense_first(small_files: Path) -> None:
    table = build_synonyms(load_wordnet(small_files))
    # The sausage is the commoner noun; the verb comes after the nouns.
    assert table["dog"] == ("frank", "hot_dog", "domestic_dog", "Canis_familiaris", "chase")
    assert table["hot_dog"] == ("dog", "frank")


def test_names_of_several_words_can_be_left_out(small_files: Path) -> None:
    table = build_synonyms(load_wordnet(small_files))
    assert one_word_names("dog", table["dog"]) == ["frank", "chase"]
    assert table["cat"] == ("true_cat",)
    assert one_word_names("cat", table["cat"]) == []
    assert one_word_names("true_cat", table["true_cat"]) == ["cat"]


def test_words_are_lower_cased_and_joined_by_underscores(small_files: Path) -> None:
    table = build_synonyms(load_wordnet(small_files))
    assert table["canis_familiaris"] == ("dog", "domestic_dog")
    assert "Canis_familiaris" not in table


def test_a_name_that_differs_in_capitals_alone_is_no_synonym(small_files: Path) -> None:
    table = build_synonyms(load_wordnet(small_files))
    assert table["big"] == ("large", "huge")


def test_a_word_without_synonyms_is_not_in_the_table(small_files: Path) -> None:
    table = build_synonyms(load_wordnet(small_files))
    assert "void" not in table
    assert table.get("void") is None
    assert table.get("void", ()) == ()
    with pytest.raises(KeyError):
        table["void"]


def test_the_second_call_loads_the_same_table_from_the_cache(
    installed_small: Path, own_cache: Path, count_calls: Callable[[str], list[None]]
) -> None:
    parses = count_calls("tailwright.data.synonyms.load_wordnet")
    first, second = fresh_arrays(), fresh_arrays()
    assert len(parses) == 1
    made = synonym_arrays(build_synonyms(load_wordnet(installed_small)), "textattack")
    assert same_arrays(first, second)
    assert same_arrays(first, made)
    assert [entry.name.rsplit("-", 4)[0] for entry in own_cache.iterdir()] == ["synonym-arrays"]


def test_other_files_give_another_table(
    installed_small: Path, count_calls: Callable[[str], list[None]]
) -> None:
    parses = count_calls("tailwright.data.synonyms.load_wordnet")
    fresh_arrays()
    for name in ("data.verb", "index.verb"):
        path = installed_small / name
        path.write_text(path.read_text().replace("chase", "trail"))
    other = synonym_arrays(build_synonyms(load_wordnet(installed_small)), "textattack")
    assert same_arrays(fresh_arrays(), other)
    assert b"trail" in other.name_content.tobytes()
    assert len(parses) == 2


@pytest.fixture(scope="module")
def real_table(real_wordnet: WordNetDatabase) -> Synonyms:
    return build_synonyms(real_wordnet)


def test_wordnet_has_synonyms_for_110390_words(real_table: Synonyms, real_wordnet: WordNetDatabase) -> None:
    assert len(set(real_wordnet.entries)) == 147_306
    assert len(real_table) == 110_390
    assert real_table["car"] == (
        *("auto", "automobile", "machine", "motorcar", "railcar", "railway_car", "railroad_car", "gondola"),
        *("elevator_car", "cable_car"),
    )
    assert one_word_names("car", real_table["car"]) == [
        *("auto", "automobile", "machine", "motorcar", "railcar", "gondola"),
    ]


def test_no_word_is_its_own_synonym_and_no_synonym_comes_twice(real_table: Synonyms) -> None:
    for word, names in real_table.items():
        assert word not in {name.lower() for name in names}
        assert len(set(names)) == len(names) > 0


def test_being_a_synonym_goes_both_ways(real_table: Synonyms) -> None:
    for word, names in real_table.items():
        for name in names:
            assert word in {other.lower() for other in real_table[name.lower()]}
