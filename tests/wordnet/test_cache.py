"""The cache folder: where it is, and that nothing that happens to it is an error."""

from __future__ import annotations

import logging
import multiprocessing
from pathlib import Path

import pytest
from fresh_synonyms import fresh_arrays, same_arrays
from hypothesis import given, settings
from hypothesis import strategies as st
from small_wordnet import write_wordnet

from tailwright.data.cache import cache_folder
from tailwright.data.demo import demo_corpus


def test_our_variable_comes_before_xdg_and_xdg_before_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILWRIGHT_CACHE", "/a")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    monkeypatch.setenv("HOME", "/c")
    assert cache_folder() == Path("/a")
    monkeypatch.delenv("TAILWRIGHT_CACHE")
    assert cache_folder() == Path("/b/tailwright")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path("/c/.cache/tailwright")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path("/c/.cache/tailwright")


def only_entry(cache: Path) -> Path:
    (entry,) = cache.iterdir()
    return entry


@pytest.mark.usefixtures("installed_small")
@pytest.mark.parametrize("victim", ["manifest.json", "names.bytes.npy", "starts.npy"])
@pytest.mark.parametrize("harm", ["flip", "truncate", "remove", "empty"])
def test_a_damaged_table_is_made_anew_and_kept(own_cache: Path, victim: str, harm: str) -> None:
    whole = fresh_arrays()
    path = only_entry(own_cache) / victim
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    if harm == "remove":
        path.unlink()
    else:
        path.write_bytes({"flip": bytes(data), "truncate": bytes(data[:-9]), "empty": b""}[harm])
    assert same_arrays(fresh_arrays(), whole)
    repaired = path.read_bytes()
    assert same_arrays(fresh_arrays(), whole)
    assert path.read_bytes() == repaired != bytes(data)


@pytest.mark.usefixtures("installed_small")
def test_a_file_or_a_strange_folder_at_the_place_of_an_entry_gives_way(own_cache: Path) -> None:
    whole = demo_corpus()
    entry = only_entry(own_cache)
    entry.rename(own_cache.parent / "away")
    entry.write_text("a file")
    assert demo_corpus().same_as(whole)
    assert (entry / "manifest.json").exists()
    (entry / "manifest.json").write_text("{}")
    assert demo_corpus().same_as(whole)
    assert (entry / "manifest.json").read_text() != "{}"


@pytest.mark.usefixtures("installed_small")
@pytest.mark.parametrize("victim", ["labels/texts.bytes.npy", "train/targets.indices.npy", "methods.json"])
def test_a_damaged_corpus_is_made_anew(own_cache: Path, victim: str) -> None:
    whole = demo_corpus()
    path = only_entry(own_cache) / victim
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert demo_corpus().same_as(whole)
    assert path.read_bytes() == data


@pytest.mark.usefixtures("installed_small")
def test_a_place_that_cannot_be_written_costs_one_warning_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.WARNING):
        first, second = demo_corpus(), demo_corpus()
        assert len(fresh_arrays().starts) > 5
    assert first.same_as(second)
    (line,) = caplog.messages
    assert line.startswith("working without a cache: ")
    assert str(tmp_path / "file" / "cache") in line


@pytest.mark.usefixtures("installed_small")
def test_a_full_disk_costs_a_warning_and_leaves_nothing(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with caplog.at_level(logging.WARNING):
        assert len(demo_corpus().labels) == 6
    assert "No space left on device" in caplog.text
    assert list(own_cache.iterdir()) == []


@pytest.mark.usefixtures("installed_small")
def test_a_machine_without_a_home_folder_works_without_a_cache(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TAILWRIGHT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with caplog.at_level(logging.WARNING):
        assert len(demo_corpus().labels) == 6
    assert "Could not determine home directory" in caplog.text


def _build(rounds: int) -> list[int]:
    return [len(demo_corpus(None, seed).labels) + len(fresh_arrays().starts) for seed in range(rounds)]


@pytest.mark.usefixtures("installed_small")
def test_processes_that_build_at_the_same_time_all_succeed(own_cache: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        sizes = pool.map(_build, [6] * 4, chunksize=1)
    assert sizes == [_build(6)] * 4
    # Six corpora and one table, and no remains of those who came second.
    assert len([entry for entry in own_cache.iterdir() if not entry.name.startswith(".")]) == 7
    assert [entry for entry in own_cache.iterdir() if entry.name.startswith(".")] == []


@settings(max_examples=40)
@given(st.data())
def test_no_edit_of_a_cached_corpus_changes_what_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    base = tmp_path_factory.mktemp("edit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAILWRIGHT_WORDNET", str(write_wordnet(base / "wordnet")))
        patch.setenv("TAILWRIGHT_CACHE", str(base / "cache"))
        whole = demo_corpus()
        files = sorted(path for path in only_entry(base / "cache").rglob("*") if path.is_file())
        path = data.draw(st.sampled_from(files))
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        assert demo_corpus().same_as(whole)
