"""What all tests share: where the real datasets are, and small corpora."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# Deadlines measure the machine, not the code.
settings.register_profile("tailwright", deadline=None, derandomize=True)
settings.load_profile("tailwright")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets: $TAILWRIGHT_DATA, or shared/data beside the checkout. Skips without it."""
    folder = Path(os.environ.get("TAILWRIGHT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no folder of real datasets; set TAILWRIGHT_DATA")
    return folder


@pytest.fixture
def own_long_work(tmp_path, monkeypatch) -> None:
    """What language models keep while they learn and write goes to the folder of the test."""
    monkeypatch.setattr("tailwright.language.work.cache_folder", lambda: tmp_path / "long-work")
