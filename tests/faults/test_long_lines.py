"""Files that would fill the memory or never end: long lines, small files that unpack to large ones, pipes."""

from __future__ import annotations

import gzip
import json
import os

import pyarrow as pa
import pytest

import tailwright as tw
from tailwright.cli import run as command
from tailwright.data.formats import limits
from tailwright.data.text_source import text_source
from tailwright.errors import InputError

ROW = json.dumps({"text": "red shoes", "labels": ["shoes"]})
LONG = {
    "rows.jsonl": [ROW, json.dumps({"text": "a" * 1_200_000, "labels": ["x"]}), ROW],
    "rows.json": ["[" + ROW, "," + ROW + " " * 1_200_000, "]"],
    "rows.csv": ["text,labels", "a" * 1_200_000 + ",x", "red shoes,shoes"],
    "quoted.csv": ["text,labels", '"' + "a" * 1_200_000 + '"x,x', "red shoes,shoes"],
    "rows.txt": ["__label__shoes red shoes", "__label__x " + "a " * 600_000],
}


@pytest.fixture
def short_lines(monkeypatch):
    monkeypatch.setenv(limits.LINE_MB, "1")


@pytest.mark.parametrize("name", LONG)
def test_a_line_that_is_too_long_is_one_line_that_says_how_to_raise_the_limit(tmp_path, short_lines, name):
    (tmp_path / name).write_text("\n".join(LONG[name]) + "\n")
    with pytest.raises(InputError) as refused:
        tw.read(tmp_path / name)
    expected = "a line of more than 1 MB, expected shorter lines, or TAILWRIGHT_LINE_MB above 1"
    assert str(refused.value) == f"{tmp_path / name}:2: {expected}"


def test_texts_to_label_have_the_same_limit(tmp_path, short_lines):
    for name in ("texts.txt", "rows.csv", "rows.jsonl"):
        (tmp_path / name).write_text("\n".join(LONG.get(name, ["a", "b" * 1_200_000])) + "\n")
        with pytest.raises(InputError, match=":2: a line of more than 1 MB"), text_source(tmp_path / name):
            pass


def test_a_line_of_the_longest_length_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MB", 1000)
    monkeypatch.setenv(limits.LINE_MB, "1")
    for length, refused in ((1000, False), (1001, True)):
        text = "a" * (length - len('{"text": "", "labels": ["x"]}'))
        (tmp_path / "rows.jsonl").write_text(json.dumps({"text": text, "labels": ["x"]}) + "\n")
        if refused:
            with pytest.raises(InputError, match="more than 1 MB"):
                tw.read(tmp_path / "rows.jsonl")
        else:
            assert len(tw.read(tmp_path / "rows.jsonl").train.texts[0].as_py()) == len(text)


@pytest.mark.parametrize("suffix", ["gz", "zst"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, monkeypatch, suffix, name):
    monkeypatch.setattr(limits, "UNPACKED_BYTES", 1 << 18)
    path, line = tmp_path / f"{name}.{suffix}", (ROW if name == "rows.jsonl" else "red shoes,shoes") + "\n"
    content = ("text,labels\n" * (name == "rows.csv") + line * 30_000).encode()
    if suffix == "gz":
        path.write_bytes(gzip.compress(content))
    else:
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(content)
    with pytest.raises(InputError) as refused:
        tw.read(path)
    expected = "less, or TAILWRIGHT_UNPACKED_RATIO above 100"
    assert str(refused.value) == f"{path}: unpacks to more than 100 times its size, expected {expected}"
    monkeypatch.setenv(limits.RATIO, "1000000")
    assert len(tw.read(path, test_share=0).train) == 30_000


def test_a_limit_that_is_no_number_is_refused(tmp_path, monkeypatch):
    (tmp_path / "rows.jsonl").write_text(ROW)
    monkeypatch.setenv(limits.LINE_MB, "many")
    with pytest.raises(InputError, match="TAILWRIGHT_LINE_MB='many', expected a whole number from 1"):
        tw.read(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    "name", ["rows.jsonl", "rows.csv", "rows.parquet", "rows.txt", "rows.jsonl.gz", "rows.db"]
)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, capsys, name):
    os.mkfifo(tmp_path / name)
    assert command(["data", "inspect", str(tmp_path / name)]) == 2
    said = "is a pipe or a device, expected a file or a folder, or - for standard input"
    assert capsys.readouterr().err == f"tailwright: {tmp_path / name}: {said}\n"


def test_a_pipe_in_a_folder_is_refused_too(tmp_path):
    os.mkfifo(tmp_path / "train.jsonl")
    with pytest.raises(InputError, match=r"train\.jsonl: is a pipe"):
        tw.read(tmp_path)
    with pytest.raises(InputError, match=r"train\.jsonl: is a pipe"), text_source(tmp_path / "train.jsonl"):
        pass


def test_cells_longer_than_pythons_own_limit_are_read(tmp_path):
    (tmp_path / "rows.csv").write_text("text,labels\nhat,x\n" + '"' + "a" * 200_000 + '"b,x\n' + '"c\nd",x\n')
    with pytest.raises(InputError, match="wrongly quoted"):
        tw.read(tmp_path / "rows.csv")
    (tmp_path / "rows.txt").write_text("word " * 40_000 + "\n")
    with pytest.raises(InputError, match="lines without __label__"):
        tw.read(tmp_path / "rows.txt")
