"""One cluster of two cores for all tests of a worker, on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cluster.connection import Cluster, connected


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Its workers find modules of the tests, as this process does."""
    tests = Path(__file__).resolve().parent
    with pytest.MonkeyPatch.context() as patch:
        paths = [str(tests), str(tests.parent), str(tests.parent.parent), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        with connected("ray", workers=2) as here:
            yield here


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs over the same labels, and rows to label: `rows.jsonl`."""
    folder = tmp_path_factory.mktemp("trained")
    corpus = tiny_corpus()
    for name, seed in (("run", 0), ("other", 1)):
        tw.train(corpus, "linear", settings={"trees": 1}, seed=seed, out=folder / name)
    texts = [*corpus.train.texts.to_pylist(), "zzyzx"]
    rows = ({"id": f"r{number}", "text": text} for number, text in enumerate(texts))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
