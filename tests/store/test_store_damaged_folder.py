"""A folder that is not what it should be, or whose manifest is not: one clear line each."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from sample_folder import assert_damaged, edit_manifest, load_all, write_sample

from tailwright.errors import InputError
from tailwright.store import DamagedFolderError, open_folder
from tailwright.store.manifest import MAX_MANIFEST_BYTES


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "run")


def test_truncated_file_says_both_sizes(run):
    path = run / "counts.npy"
    path.write_bytes(path.read_bytes()[:-1])
    assert_damaged(run, "counts.npy", "167 bytes, expected 168 as in the manifest")


def test_flipped_bit_says_both_hashes(run):
    path = run / "model" / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert_damaged(run, "model/weights.safetensors", "sha256", "as in the manifest")


def test_missing_file_is_named(run):
    (run / "model" / "shape.json").unlink()
    assert_damaged(run, "model/shape.json: is missing")


def test_file_that_the_manifest_forgot_is_named(run):
    manifest = json.loads((run / "manifest.json").read_bytes())
    del manifest["files"]["counts.npy"]
    edit_manifest(run, files=manifest["files"])
    assert_damaged(run, "counts.npy: is not in the manifest")


def test_missing_folder_says_so(tmp_path):
    assert_damaged(tmp_path / "nowhere", "does not exist, expected a run folder")


def test_file_instead_of_a_folder_says_so(tmp_path):
    (tmp_path / "run").write_text("hello")
    assert_damaged(tmp_path / "run", "is a file, expected a run folder")


def test_folder_without_manifest_says_so(tmp_path):
    (tmp_path / "run").mkdir()
    assert_damaged(tmp_path / "run", "has no manifest.json, expected a run folder")


def test_newer_version_says_what_to_do(run):
    edit_manifest(run, version=3, colour="green")
    assert_damaged(run, "format version 3, expected version 2; upgrade tailwright")


def test_older_version_says_what_to_do(run):
    earlier = "format version 1, which an earlier version of tailwright wrote, expected version 2"
    edit_manifest(run, version=1, colour="green")
    assert_damaged(run, f"{earlier}; train the run again")
    edit_manifest(run, version=1, kind="corpus")
    assert_damaged(run, f"{earlier}; make the folder again")


def test_folder_of_another_kind_says_which(run):
    with pytest.raises(DamagedFolderError, match="a run folder, expected a corpus folder"):
        open_folder(run, kind="corpus")


@pytest.mark.parametrize(
    "name",
    [
        "../outside.json",
        "model/../../outside.json",
        "/etc/passwd",
        "..",
        "./config.json",
        "model//shape.json",
        "model/",
        "",
        "C:/x.json",
        "a\\b.json",
        "..\\x.json",
        "a\0.json",
        "a\n.json",
        "\ud800.json",
        "é.json",
        ".hidden",
        "a/" * 20 + "b",
        "x" * 300,
    ],
)
def test_path_that_escapes_or_is_odd_is_refused(run, name):
    (run.parent / "outside.json").write_text("{}")
    edit_manifest(run, files={name: {"bytes": 2, "sha256": "0" * 64}})
    assert_damaged(
        run, "manifest.json", "surrogate" if name.startswith("\ud800") else "a file name must be relative"
    )


def test_symlink_that_escapes_is_refused(run):
    outside = run.parent / "outside.npy"
    (run / "counts.npy").rename(outside)
    (run / "counts.npy").symlink_to(outside)
    assert_damaged(run, "counts.npy: is a symbolic link")


def test_symlink_to_a_folder_outside_is_refused(run):
    outside = run.parent / "outside"
    (run / "model").rename(outside)
    (run / "model").symlink_to(outside)
    assert_damaged(run, "model: is a symbolic link")


def test_manifest_that_is_a_symlink_is_refused(run):
    outside = run.parent / "outside.json"
    (run / "manifest.json").rename(outside)
    (run / "manifest.json").symlink_to(outside)
    assert_damaged(run, "manifest.json: is a symbolic link")


def test_symlink_to_the_folder_itself_is_followed(run):
    link = run.parent / "link"
    link.symlink_to(run)
    assert load_all(link) == load_all(run)


def test_pipe_instead_of_a_file_is_refused_and_not_waited_for(run):
    (run / "counts.npy").unlink()
    os.mkfifo(run / "counts.npy")
    assert_damaged(run, "counts.npy: is not a regular file")


def test_folder_instead_of_a_file_is_refused(run):
    (run / "config.json").unlink()
    (run / "config.json").mkdir()
    assert_damaged(run, "config.json: is not a regular file")


def test_unreadable_file_is_an_input_error(run, monkeypatch):
    real = Path.open

    def refuse(path: Path, *args: object) -> object:
        if path.name == "counts.npy":
            raise PermissionError(13, "Permission denied")
        return real(path, *args)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"counts\.npy: cannot be read \(Permission denied\)"):
        open_folder(run, kind="run")


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"{", b"\xff\xfe{}", b"[]", b"null", b"{}", b"\xef\xbb\xbf{}"]
)
def test_manifest_that_is_no_manifest_is_refused(run, content):
    (run / "manifest.json").write_bytes(content)
    assert_damaged(run, "manifest.json", "expected a manifest")


def test_huge_manifest_is_refused_without_being_read_whole(run):
    with (run / "manifest.json").open("r+b") as file:
        file.truncate(1 << 40)
    assert_damaged(run, "manifest.json", f"more than {MAX_MANIFEST_BYTES} bytes")


def test_deeply_nested_manifest_is_refused(run):
    (run / "manifest.json").write_text("[" * 100_000 + "]" * 100_000)
    assert_damaged(run, "manifest.json", "nested deeper than 64")


def test_manifest_with_a_key_twice_is_refused(run):
    text = (run / "manifest.json").read_text()
    (run / "manifest.json").write_text(text.replace("{", '{"version": 2,', 1))
    assert_damaged(run, "manifest.json", "the same key twice")


ENTRY = {"bytes": 2, "sha256": "0" * 64}


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "tailwind"},
        {"format": 7},
        {"version": "2"},
        {"version": 2.0},
        {"version": True},
        {"version": None},
        {"kind": 3},
        {"kind": "Run!"},
        {"made_by": ["me"]},
        {"made_by": "x" * 1000},
        {"files": []},
        {"files": {"a.json": 3}},
        {"files": {"a.json": {**ENTRY, "bytes": -1}}},
        {"files": {"a.json": {**ENTRY, "bytes": "2"}}},
        {"files": {"a.json": {**ENTRY, "bytes": 2.0}}},
        {"files": {"a.json": {**ENTRY, "bytes": True}}},
        {"files": {"a.json": {**ENTRY, "sha256": "0" * 63}}},
        {"files": {"a.json": {**ENTRY, "sha256": "0" * 64 + "\n"}}},
        {"files": {"a.json": {**ENTRY, "sha256": "G" * 64}}},
        {"files": {"a.json": {**ENTRY, "mode": 7}}},
        {"files": {"a.json": {"bytes": 2}}},
        {"unknown": 1},
    ],
)
def test_manifest_with_a_wrong_type_or_value_is_refused(run, changes):
    edit_manifest(run, **changes)
    assert_damaged(run, "manifest.json", "expected a manifest")
