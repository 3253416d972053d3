"""Where long work is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailwright.errors import InputError
from tailwright.language.work import work_folder
from tailwright.store.keeping import alone


def test_the_shared_folder_comes_before_the_cache(monkeypatch, tmp_path):
    assert work_folder("texts", "ab") == tmp_path / "cache" / "work" / "texts-ab"
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    assert work_folder("texts", "ab") == tmp_path / "shared" / "work" / "texts-ab"
    assert not (tmp_path / "shared").exists()


def test_without_a_home_it_says_what_to_set(monkeypatch):
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("TAILWRIGHT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(InputError, match="expected TAILWRIGHT_CACHE to name a folder"):
        work_folder("texts", "ab")


def test_a_second_process_waits_until_the_first_is_done(tmp_path):
    folder = tmp_path / "work" / "texts-ab"
    code = (
        "import sys; from pathlib import Path; from tailwright.store.keeping import alone\n"
        "print('here', flush=True)\n"
        "with alone(Path(sys.argv[1])): print(Path(sys.argv[2]).exists())"
    )
    with alone(folder):
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(folder), str(tmp_path / "done")],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert other.stdout is not None
        assert other.stdout.readline() == "here\n"
        (tmp_path / "done").touch()
    found, _ = other.communicate()
    assert found == "True\n"
