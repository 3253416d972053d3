"""All or nothing: a folder appears whole, and a failed or killed writer leaves its place as it was."""

from __future__ import annotations

import errno
import os
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sample_folder import load_all, mark_of, siblings, write_mark, write_sample

from tailwright.errors import InputError, TailwrightError
from tailwright.store import DamagedFolderError, open_folder, placing, writing


def test_the_folder_is_not_there_before_the_end_and_nothing_else_is_after_it(tmp_path):
    path = tmp_path / "some" / "where" / "run"
    with writing(path, kind="run") as folder:
        folder.json("a.json", 1)
        assert not path.exists()
    assert open_folder(path, kind="run").json("a.json") == 1
    assert siblings(path) == []


def test_an_exception_in_the_block_removes_all_and_passes_on(tmp_path):
    def interrupted() -> None:
        with writing(tmp_path / "run", kind="run") as folder:
            folder.json("a.json", 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_an_os_error_of_the_users_own_code_stays_what_it_is(tmp_path):
    with pytest.raises(FileNotFoundError), writing(tmp_path / "run", kind="run"):
        (tmp_path / "nothing").read_text()


def test_a_writer_that_was_closed_writes_no_more(tmp_path):
    with writing(tmp_path / "run", kind="run") as folder:
        sub = folder.sub("model")
    with pytest.raises(RuntimeError, match="no longer being written"):
        sub.json("a.json", 1)


def test_the_folder_has_the_permissions_of_an_ordinary_one(tmp_path):
    (tmp_path / "ordinary").mkdir()
    path = write_sample(tmp_path / "run")
    assert path.stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_an_existing_folder_is_refused_without_overwrite(tmp_path):
    path = write_sample(tmp_path / "run")
    with pytest.raises(InputError, match="run: exists already, expected a new folder"):
        write_mark(path, "new", overwrite=False)
    load_all(path)


def test_an_empty_folder_is_as_good_as_none(tmp_path):
    (tmp_path / "run").mkdir()
    write_mark(tmp_path / "run", "new", overwrite=False)
    assert mark_of(tmp_path / "run") == "new"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_in_the_way_is_refused(tmp_path, overwrite):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(InputError, match="run: is a file"):
        write_mark(tmp_path / "run", "new", overwrite)
    assert (tmp_path / "run").read_text() == "mine"


@pytest.mark.parametrize(
    "manifest", [None, '{"name": "web app"}', '{"name": "x", "format": "tailwright"}', "[]"]
)
def test_overwrite_never_replaces_a_folder_that_is_not_ours(tmp_path, manifest):
    path = tmp_path / "thesis"
    path.mkdir()
    (path / "chapter.txt").write_text("years of work")
    if manifest is not None:
        (path / "manifest.json").write_text(manifest)
    with pytest.raises(InputError, match="thesis: is no tailwright folder"):
        write_mark(path, "new")
    assert (path / "chapter.txt").read_text() == "years of work"
    assert siblings(path) == []


def test_overwrite_replaces_a_folder_of_ours_even_a_damaged_one(tmp_path):
    path = write_sample(tmp_path / "run")
    manifest = path / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:200])
    write_mark(path, "new")
    assert mark_of(path) == "new"
    assert siblings(path) == []


def test_a_link_to_a_folder_stays_a_link_when_overwritten(tmp_path):
    write_mark(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_mark(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert mark_of(tmp_path / "real") == "new"


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(InputError, match="exists already"), writing(path, kind="run"):
        write_mark(path, "other")
    assert mark_of(path) == "other"
    assert siblings(path) == []


def test_a_disk_that_cannot_exchange_folders_replaces_them_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(placing, "_exchange", lambda one, other: False)
    write_mark(tmp_path / "run", "old")
    write_mark(tmp_path / "run", "new")
    assert mark_of(tmp_path / "run") == "new"
    assert siblings(tmp_path / "run") == []


def test_a_rename_that_fails_without_exchange_puts_the_old_folder_back(tmp_path, monkeypatch):
    path = tmp_path / "run"
    write_mark(path, "old")
    real = Path.rename

    def refuse(source: Path, target: Path) -> Path:
        if target == path and ".tmp-" in source.name:
            raise OSError(errno.EIO, "Input/output error")
        return real(source, target)

    monkeypatch.setattr(placing, "_exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(TailwrightError, match="run: cannot be written"):
        write_mark(path, "new")
    assert mark_of(path) == "old"
    assert siblings(path) == []


def test_a_full_disk_at_any_moment_leaves_the_old_folder_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "run"
    write_mark(path, "old")
    real, left = os.fsync, 0

    def full(handle: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    for synced in range(5):  # two files, the manifest, two folders
        left = synced
        with pytest.raises(TailwrightError) as caught:
            write_mark(path, "new")
        assert str(caught.value).startswith(str(path))
        assert str(caught.value).endswith("cannot be written (No space left on device)")
        assert caught.value.exit_code == 1
        assert mark_of(path) == "old"
        assert siblings(path) == []
    left = 100
    write_mark(path, "new")
    assert mark_of(path) == "new"


def test_a_file_that_cannot_grow_is_named(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(TailwrightError) as caught, writing(tmp_path / "run", kind="run") as folder:
            folder.sub("model").tensors("weights", {"w": np.ones(10**6)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "run/model/weights.safetensors: cannot be written (" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_may_not_be_written_is_an_input_error(tmp_path, monkeypatch):
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(InputError, match=r"run: cannot be written \(Permission denied\)"):
        write_mark(tmp_path / "run", "new")


def test_a_place_below_a_file_is_an_input_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"run: cannot be written"):
        write_mark(tmp_path / "file" / "run", "new")


def test_the_root_folder_is_refused():
    with pytest.raises(InputError, match="/: exists already"):
        write_mark(Path("/"), "new", overwrite=False)


def test_writers_of_one_place_at_a_time_leave_one_whole_folder(tmp_path):
    path = tmp_path / "run"
    write_mark(path, "first")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_mark, [path] * 40, "0123" * 10))
    assert mark_of(path) in {"0", "1", "2", "3"}
    assert siblings(path) == []


def test_a_folder_that_was_set_aside_is_named_to_the_reader(tmp_path):
    write_mark(tmp_path / "run", "old")
    (tmp_path / "run").rename(tmp_path / ".run.previous")
    with pytest.raises(
        DamagedFolderError, match=r"does not exist, but .*\.run\.previous does: rename it back"
    ):
        mark_of(tmp_path / "run")
