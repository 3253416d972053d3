"""Files that would fill the memory or never end: long lines, small files that unpack to large ones, pipes."""

from __future__ import annotations

import ast
import gzip
import json
import os
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailwright as tw
from tailwright.cli import run as command
from tailwright.data.formats import limits
from tailwright.data.formats.cells import listed
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


_ITEM = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|0|-?[1-9][0-9]*"""
_PRINTED = re.compile(rf"\[\s*(?:(?:{_ITEM})(?:\s*,\s*|\s+|(?=\s*\])))*\s*\]")


@given(st.text("[]'1 ,\n-a", max_size=12).map("[{}]".format))
def test_a_printed_list_is_what_one_expression_says(cell):
    whole = _PRINTED.fullmatch(cell)
    assert listed(cell) == (whole and [ast.literal_eval(item) for item in re.findall(_ITEM, cell)])


@pytest.mark.parametrize("cell", [r"['\x']", r"['\N{no}']", r"['\ud800']", "['\0']", "[" + "9" * 5000 + "]"])
def test_a_list_that_python_would_not_read_is_none(cell):
    assert listed(cell) is None


# By an expression that goes back and forth, or a look through all labels of the line, these take minutes.
def test_a_long_run_of_spaces_in_a_list_is_no_work():
    assert listed("['a'" + " " * 300_000 + "x]") is None
    assert listed("[1" + " " * 300_000 + "2 ]") == [1, 2]


def test_many_labels_on_one_line_are_no_work(tmp_path):
    count = 100_000
    pairs = " ".join(f"{label}:1.0" for label in range(count))
    (tmp_path / "trn_X_Y.txt").write_text(f"1 {count}\n{pairs} 7:1.0x\n")
    (tmp_path / "trn_X.txt").write_text("a text\n")
    with pytest.raises(InputError, match=r"trn_X_Y\.txt:2: '7:1\.0x', expected label:value"):
        tw.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("trn_X_Y.txt", "1 " + "9" * 5000 + "\n0:1\n", "the header '1 999"),
        ("filter_labels_train.txt", "0 " + "9" * 5000 + "\n", "'0 9999"),
    ],
)
def test_numbers_of_thousands_of_digits_are_refused(tmp_path, name, content, found):
    files = {"trn_X_Y.txt": "1 1\n0:1\n", "trn_X.txt": "a text\n", name: content}
    for other, text in files.items():
        (tmp_path / other).write_text(text)
    with pytest.raises(InputError, match=f"{name}:1: {found}.*, expected two numbers"):
        tw.read(tmp_path)


def test_a_label_of_thousands_of_digits_is_a_name(tmp_path):
    (tmp_path / "rows.csv").write_text("text,labels\nhat,1|" + "9" * 5000 + "\nshoe,1\n")
    assert tw.read(tmp_path / "rows.csv", test_share=0).labels.names.to_pylist() == ["1", "9" * 5000]


def test_a_header_of_many_columns_is_a_short_line(tmp_path):
    (tmp_path / "rows.csv").write_text(",".join(f"c{number}" for number in range(50_000)) + "\n")
    for options in ({}, {"text": "colour"}):
        with pytest.raises(InputError) as refused:
            tw.read(tmp_path / "rows.csv", **options)
        assert len(str(refused.value)) < 1000
