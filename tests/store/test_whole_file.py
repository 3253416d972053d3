"""One file, whole or not at all."""

from __future__ import annotations

import os

import pytest

from tailwright.errors import InputError, TailwrightError
from tailwright.store.whole_file import whole_file, write_whole


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "a.txt"
    for content in (b"old", b"new"):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_writers_left_is_cleared_and_nothing_else(tmp_path):
    path = tmp_path / "[a].txt"
    left = [tmp_path / f".[a].txt.tmp-{name}" for name in ("0123abcd", "4567abcd")]
    others = [tmp_path / ".[a].txt.tmp-mine", tmp_path / ".a.txt.tmp-0123abcd"]
    for folder in (*left, *others):
        folder.mkdir()
        (folder / path.name).touch()
    write_whole(path, b"new")
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_a_writer_leaves_another_that_is_still_writing_alone(tmp_path):
    path = tmp_path / "a.txt"
    with whole_file(path) as staged:
        staged.write_bytes(b"slow")
        write_whole(path, b"quick")
        assert path.read_bytes() == b"quick"
    assert path.read_bytes() == b"slow"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "a.txt"
    write_whole(path, b"old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(
        TailwrightError, match=r"a\.txt: cannot be written \(No space left on device\)"
    ) as error:
        write_whole(path, b"new")
    assert error.value.exit_code == 1
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_exception_in_the_block_leaves_nothing(tmp_path):
    def broken() -> None:
        with whole_file(tmp_path / "a.txt") as staged:
            staged.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_the_users_mistake(tmp_path):
    with pytest.raises(InputError, match=r"a\.txt: cannot be written \(No such file or directory\)"):
        write_whole(tmp_path / "no" / "a.txt", b"x")
