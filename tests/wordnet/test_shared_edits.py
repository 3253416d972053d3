"""Rows that trainings share are made anew for another WordNet, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_wordnet import write_wordnet

from tailwright.augmentation import row_augmenter
from tailwright.data.corpus import Corpus, corpus_from_lists
from tailwright.runs import augment

EVERY = {"rows": "all", "min_words": 1}


@pytest.fixture
def rows_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that trainings share their work in."""
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    return tmp_path / "shared"


def corpus() -> Corpus:
    return corpus_from_lists(["a big dog and a cat", "the dog of an isle"], [[0], [1]], ["x", "y"])


@pytest.mark.parametrize("method", ["eda", "wordnet"])
def test_another_wordnet_makes_rows_of_its_own(
    method: str, installed_small: Path, rows_made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {**EVERY, "operations": "synonyms"} if method == "eda" else EVERY
    first = augment(corpus(), method, settings=asked).train
    other = write_wordnet(tmp_path / "other")
    monkeypatch.setenv("TAILWRIGHT_WORDNET", str(other))
    assert augment(corpus(), method, settings=asked).train.same_as(first)
    assert len(list(rows_made.glob("rows-*"))) == 1  # the same files in another place are the same WordNet
    third = write_wordnet(tmp_path / "third")
    (third / "noun.exc").write_text("big cat\n")
    monkeypatch.setenv("TAILWRIGHT_WORDNET", str(third))
    changed = augment(corpus(), method, settings=asked).train
    assert len(list(rows_made.glob("rows-*"))) == 2
    monkeypatch.setenv("TAILWRIGHT_WORDNET", str(installed_small))
    assert augment(corpus(), method, settings=asked).train.same_as(first)
    assert len(changed) == len(first)


def test_edits_without_synonyms_depend_on_no_wordnet(
    tmp_path: Path, rows_made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILWRIGHT_WORDNET", str(tmp_path / "nowhere"))
    asked = {**EVERY, "operations": "swap"}
    assert row_augmenter("eda", asked).depends_on() == ()
    assert len(augment(corpus(), "eda", settings=asked).train) == 4


def test_exceptions_are_of_no_matter_where_inflections_are_off(installed_small: Path, tmp_path: Path) -> None:
    def depends(inflections: bool, folder: Path) -> tuple[str, ...]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TAILWRIGHT_WORDNET", str(folder))
            return row_augmenter("wordnet", {"inflections": inflections}).depends_on()

    other = write_wordnet(tmp_path / "other")
    (other / "noun.exc").write_text("mice mouse\n")
    assert depends(True, other) != depends(True, installed_small)
    assert depends(False, other) == depends(False, installed_small) != depends(True, installed_small)
