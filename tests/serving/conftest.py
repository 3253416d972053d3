"""A tiny run that all tests of the server share, with the data that it was trained on."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`linear` with one tree; its rows can still be read."""
    parent = tmp_path_factory.mktemp("served")
    tw.write(tiny_corpus(), parent / "data")
    tw.train(tw.read(parent / "data"), "linear", settings={"trees": 1}, out=parent / "topics", measure=False)
    return parent / "topics"


@pytest.fixture(scope="session")
def matcher_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`label-matcher`, whose scores are no probabilities."""
    folder = tmp_path_factory.mktemp("served") / "matcher"
    tw.train(tiny_corpus(), "label-matcher", measure=False).save(folder)
    return folder
