"""Shared work: made once by whoever comes first, loaded by the others, and never in the way."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from tailwright.store import FolderReader, FolderWriter
from tailwright.store.shared import content_key, shared, shared_folder, spared_seconds

KEY = content_key("the only key")
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    return tmp_path / "shared"


def save(folder: FolderWriter, made: np.ndarray) -> None:
    folder.array("made", made)


def load(folder: FolderReader) -> np.ndarray:
    return folder.array("made", dtype=np.int64, shape=(3,))


def made(calls: list[int] | None = None, pause: float = 0.0) -> np.ndarray:
    def build() -> np.ndarray:
        if calls is not None:
            calls.append(1)
        time.sleep(pause)
        return np.arange(3)

    return shared("thing", lambda: KEY, build, save, load)


def test_without_a_folder_everything_is_made_and_no_key_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TAILWRIGHT_SHARED", raising=False)
    assert shared_folder() is None
    assert shared("thing", lambda: pytest.fail("asked"), lambda: 7, pytest.fail, pytest.fail) == 7


def test_it_is_made_once_and_then_loaded(folder: Path) -> None:
    calls: list[int] = []
    first, second = made(calls), made(calls)
    assert np.array_equal(first, second)
    assert calls == [1]
    assert [entry.name for entry in folder.iterdir()] == [f"thing-{KEY}"]


def test_a_key_that_is_no_digest_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"key must give a digest in hexadecimal, got '\.\./x'"):
        shared("thing", lambda: "../x", lambda: 7, pytest.fail, pytest.fail)


@pytest.mark.parametrize("name", ["manifest.json", "making.json", "made.npy"])
@pytest.mark.parametrize("harm", ["flip", "truncate", "remove"])
def test_a_damaged_entry_is_made_anew(folder: Path, name: str, harm: str) -> None:
    calls: list[int] = []
    made(calls)
    path = folder / f"thing-{KEY}" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data if harm == "flip" else data[:-1])
    if harm == "remove":
        path.unlink()
    assert made(calls).tolist() == [0, 1, 2]
    assert made(calls).tolist() == [0, 1, 2]
    assert calls == [1, 1]


def test_a_full_disk_costs_one_warning(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with caplog.at_level(logging.WARNING):
        assert made().tolist() == made().tolist() == [0, 1, 2]
    (line,) = caplog.messages
    assert line.startswith("working without shared work: ")
    assert "No space left on device" in line
    assert list(folder.iterdir()) == []


def test_a_disk_without_locks_still_keeps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", no_locks)
    calls: list[int] = []
    made(calls)
    made(calls)
    assert calls == [1]
    assert [entry.name for entry in folder.iterdir()] == [f"thing-{KEY}"]


def test_a_build_that_fails_leaves_nothing_and_the_next_one_builds(folder: Path) -> None:
    def fails() -> np.ndarray:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        shared("thing", lambda: KEY, fails, save, load)
    assert list(folder.iterdir()) == []
    assert made().tolist() == [0, 1, 2]


def _make_and_count(log: str, pause: float) -> list[int]:
    def build() -> np.ndarray:
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(pause)
        return np.arange(3)

    found: list[int] = shared("thing", lambda: KEY, build, save, load).tolist()
    return found


def test_processes_that_come_at_once_build_once(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "builds"
    with SPAWN.Pool(4) as pool:
        found = pool.starmap(_make_and_count, [(str(log), 0.5)] * 4, chunksize=1)
    assert found == [[0, 1, 2]] * 4
    assert len(log.read_text().splitlines()) == 1
    assert [entry.name for entry in folder.iterdir()] == [f"thing-{KEY}"]


def test_a_killed_builder_is_followed_by_the_next(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "builds"
    log.touch()
    victim = SPAWN.Process(target=_make_and_count, args=(str(log), 600))
    victim.start()
    while not log.read_text():
        time.sleep(0.01)
    with SPAWN.Pool(1) as pool:
        waiting = pool.apply_async(_make_and_count, (str(log), 0))
        time.sleep(1)
        assert not waiting.ready()
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        assert waiting.get(timeout=60) == [0, 1, 2]
    assert len(log.read_text().splitlines()) == 2
    assert [entry.name for entry in folder.iterdir()] == [f"thing-{KEY}"]


def test_time_measured_and_time_spared_are_the_time_of_one_that_works_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr("tailwright.store.shared._Spared.seconds", 0.0)  # without what earlier tests spared

    def inner() -> np.ndarray:
        def build() -> np.ndarray:
            now[0] += 10
            return np.arange(3)

        return shared("inner", lambda: KEY, build, save, slow_load)

    def slow_load(folder: FolderReader) -> np.ndarray:
        now[0] += 1
        return load(folder)

    def outer() -> np.ndarray:
        def build() -> np.ndarray:
            now[0] += 5
            return inner()

        return shared("outer", lambda: KEY, build, save, slow_load)

    def alone(work: object) -> tuple[float, float]:
        measured, spared = now[0], spared_seconds()
        work()  # type: ignore[operator]
        return now[0] - measured, now[0] - measured + spared_seconds() - spared

    assert alone(inner) == (10, 10)
    assert alone(inner) == (1, 10)
    assert alone(outer) == (6, 15)  # the inner one is loaded
    assert alone(outer) == (1, 15)


def test_a_key_follows_every_part_and_its_place() -> None:
    matrix = sparse.csr_array(np.eye(3, dtype=np.float32))
    other = matrix.copy()
    other.data[1] = 2
    parts = [
        ("a", 1, 1.0),
        (1, "a", 1.0),
        ("a", 1.0, 1),
        ("a1", 1.0),
        (np.arange(4),),
        (np.arange(4).reshape(2, 2),),
        (np.arange(4, dtype=np.int32),),
        (matrix,),
        (other,),
        (pa.array(["ab", "c"], type=pa.large_string()),),
        (pa.array(["a", "bc"], type=pa.large_string()),),
    ]
    keys = [content_key(*some) for some in parts]
    assert len(set(keys)) == len(keys)
    assert content_key(matrix, "a") == content_key(matrix.copy(), "a")
    assert content_key(pa.array(["x", "ab"], type=pa.large_string()).slice(1)) == content_key(
        pa.array(["ab"], type=pa.large_string())
    )
