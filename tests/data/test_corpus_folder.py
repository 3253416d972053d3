"""A corpus in a folder of its own comes back as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from strategies import corpora, few

from tailwright.data.corpus import Corpus, corpus_from_lists, load_corpus, save_corpus
from tailwright.store import DamagedFolderError, open_folder, writing


@few(20)
@given(corpora())
def test_every_column_survives(corpus: Corpus) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "corpus"
        with writing(place, kind="corpus") as folder:
            save_corpus(folder, corpus)
        assert load_corpus(open_folder(place, kind="corpus")).same_as(corpus)


@pytest.mark.parametrize(
    "methods", [[], {"train": [1]}, {"test": [""]}, {"train": [""], "other": [""]}, {"train": []}]
)
def test_parts_that_do_not_fit_are_damage(tmp_path: Path, methods: object) -> None:
    corpus = corpus_from_lists(["red shoes"], [[1]], ["hats", "shoes"])

    class Editing:
        """A writer that puts other methods into the folder."""

        def __init__(self, folder: object) -> None:
            self.folder = folder

        def json(self, name: str, value: object) -> None:
            self.folder.json(name, methods)

        def __getattr__(self, name: str) -> object:
            return getattr(self.folder, name)

    with writing(tmp_path / "corpus", kind="corpus") as folder:
        save_corpus(Editing(folder), corpus)
    with pytest.raises(DamagedFolderError, match="expected a corpus"):
        load_corpus(open_folder(tmp_path / "corpus", kind="corpus"))
