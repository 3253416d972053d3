"""Byte edits anywhere in a folder: it loads, or it is called damaged; never another error, never a crash."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_folder import load_all, replace_file, write_sample

from tailwright.store import DamagedFolderError

# What the parsers look for, so that edits meet more than their first check.
TOKENS = [
    b"0",
    b"9",
    b"-",
    b",",
    b'"',
    b"'",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"\\",
    b"\n",
    b" ",
    b"\0",
    b"\xff",
]
TOKENS += [
    b"true",
    b"null",
    b"NaN",
    b"1e999",
    b"False",
    b"True",
    b"<i8",
    b"|b1",
    b"<f2",
    b"F64",
    b"BOOL",
    b"\\ud800",
]
TOKENS += [b"999999999999999999", b"..", b"/", b"\x01\x00", bytes(8), b"\xff" * 8]

SNIPPETS = st.sampled_from(TOKENS) | st.binary(min_size=1, max_size=8)
# (what, where as a fraction of the file, with which bytes)
EDIT = st.tuples(
    st.sampled_from(["replace", "insert", "delete", "truncate"]), st.integers(0, 10**6), SNIPPETS
)
EDITS = st.lists(EDIT, min_size=1, max_size=3)
FUZZ = settings(max_examples=4 * settings().max_examples, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("original") / "run")


@pytest.fixture(scope="module")
def content(original: Path) -> dict[str, Any]:
    return load_all(original)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each example makes its own copy of the original."""
    return tmp_path_factory.mktemp("copy") / "run"


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def edited(content: bytes, edits: list[tuple[str, int, bytes]]) -> bytes:
    for what, where, snippet in edits:
        place = where * (len(content) + 1) // (10**6 + 1)
        before, after = content[:place], content[place:]
        content = {
            "replace": before + snippet + after[len(snippet) :],
            "insert": before + snippet + after,
            "delete": before + after[len(snippet) :],
            "truncate": before,
        }[what]
    return content


def outcome(folder: Path) -> dict[str, Any] | None:
    """What the folder holds, or None where it is called damaged."""
    try:
        return load_all(folder)
    except DamagedFolderError:
        return None


def fresh(original: Path, copy: Path) -> Path:
    shutil.rmtree(copy, ignore_errors=True)
    return shutil.copytree(original, copy)


@FUZZ
@given(data=st.data(), edits=EDITS)
def test_edited_files_load_unchanged_or_are_called_damaged(original, copy, content, data, edits):
    folder = fresh(original, copy)
    path = folder / data.draw(st.sampled_from(files_of(original)))
    path.write_bytes(edited(path.read_bytes(), edits))
    assert outcome(folder) in (None, content)


@FUZZ
@given(data=st.data(), edits=EDITS)
def test_parsers_survive_edited_files_whose_hashes_are_right_again(original, copy, data, edits):
    folder = fresh(original, copy)
    name = data.draw(st.sampled_from([name for name in files_of(original) if name != "manifest.json"]))
    replace_file(folder, name, edited((folder / name).read_bytes(), edits))
    outcome(folder)


def test_the_edits_reach_every_place_of_a_file():
    content = bytes(range(50))
    assert {edited(content, [("truncate", where, b"")]) for where in range(0, 10**6 + 1, 1000)} == {
        content[:place] for place in range(51)
    }
