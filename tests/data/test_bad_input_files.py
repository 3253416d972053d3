"""Bad files and folders: damaged, empty, unreadable, twice there, not there, not what they say."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

import pytest
from format_samples import ROWS, assert_refused, jsonl, put, refusal, rows_folder

GOOD = jsonl(ROWS)

REPOSITORY = {
    "too few rows": (
        "trn_X_Y.txt",
        "3 4\n0:1\n1:1\n",
        1,
        "2 lines after a header of 3 rows",
        "as many lines",
    ),
    "too many rows": (
        "trn_X_Y.txt",
        "1 4\n0:1\n1:1\n",
        1,
        "2 lines after a header of 1 rows",
        "as many lines",
    ),
    "label beyond the header": (
        "trn_X_Y.txt",
        "2 4\n0:1\n4:1\n",
        3,
        "label id 4",
        "0..3, as the header says",
    ),
    "no header": ("trn_X_Y.txt", "0:1\n1:1\n", 1, "the header '0:1'", "two numbers: rows labels"),
    "header of features": ("trn_X_Y.txt", "2 9 4\n0:1\n1:1\n", 1, "`rows features labels`", "raw text"),
    "no pair": ("trn_X_Y.txt", "2 4\n0:1\n1\n", 3, "'1'", "label:value"),
    "value of wrong type": ("trn_X_Y.txt", "2 4\n0:1\n1:much\n", 3, "'1:much'", "label:value"),
    "value above 1": ("trn_X_Y.txt", "2 4\n0:1\n1:1.5\n", 3, "soft value 1.5 of label 1", "in (0, 1]"),
    "value NaN": ("trn_X_Y.txt", "2 4\n0:1\n1:nan\n", 3, "soft value nan of label 1", "in (0, 1]"),
    "label twice": ("trn_X_Y.txt", "2 4\n0:1\n1:1 1:1\n", 3, "label 1 twice in a row", "each label once"),
    "other label count": ("tst_X_Y.txt", "1 5\n4:1\n", 1, "5 labels in the header", "4 as in trn_X_Y.txt"),
    "text lines": ("trn_X.txt", "only one\n", None, "1 lines", "2 as in trn_X_Y.txt"),
    "label text lines": ("Y.txt", "a\nb\n", None, "2 lines", "4, one for each label of the header"),
    "filter row": ("filter_labels_train.txt", "0 1\n2 1\n", 2, "the pair 2 1", "a row in 0..1"),
    "filter label": ("filter_labels_train.txt", "0 4\n", 1, "the pair 0 4", "a label in 0..3"),
    "filter line": ("filter_labels_train.txt", "0 1\n0\n", 2, "'0'", "two numbers: row label"),
    "empty texts": ("trn_X.txt", "", None, "an empty file", "at least one row"),
    "empty matrix": ("trn_X_Y.txt", "", None, "an empty file", "at least one row"),
}


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("case", REPOSITORY)
def test_a_bad_repository_file_is_refused_with_its_line(tmp_path, case, suffix):
    name, content, line, found, expected = REPOSITORY[case]
    files = {"trn_X_Y.txt": "2 4\n0:1\n1:1\n", "trn_X.txt": "a\nb\n", "Y.txt": "a\nb\nc\nd\n"}
    for other in files.keys() - {name}:
        put(tmp_path / other, files[other])
    file = put(tmp_path / f"{name}{suffix}", content)
    assert_refused(tmp_path, file, line, found, expected)


def test_texts_and_labels_of_different_length_are_refused(tmp_path):
    put(tmp_path / "train_texts.txt", "a\nb\n")
    file = put(tmp_path / "train_labels.txt", "x\n")
    assert_refused(tmp_path, file, None, "1 lines", "2 as in train_texts.txt")


def test_texts_without_labels_are_refused(tmp_path):
    put(tmp_path / "train_texts.txt", "a\nb\n")
    assert_refused(tmp_path, tmp_path, None, "no train_labels.txt", "texts and labels")


def test_raw_json_without_its_label_file_is_refused(tmp_path):
    put(tmp_path / "trn.json", '{"title": "a", "target_ind": [], "target_rel": []}\n')
    assert_refused(tmp_path, tmp_path, None, "no lbl.json", "trn.json and lbl.json")


@pytest.mark.parametrize(
    "name", ["train.jsonl", "train.jsonl.gz", "train.jsonl.zst", "train.csv", "train.parquet"]
)
def test_an_empty_file_is_refused(tmp_path, name):
    file = put(tmp_path / name, "")
    assert_refused(tmp_path, file, None, "an empty file", "at least one row")


@pytest.mark.parametrize("content", ["\n", " \n\n", "\ufeff"])
def test_a_file_of_blank_lines_is_refused(tmp_path, content):
    file = put(tmp_path / "train.jsonl", content)
    assert_refused(tmp_path, file, None, "an empty file", "at least one row")


NOT_UTF8 = {
    "train.jsonl": (b'{"text": "caf\xc3\xa9", "labels": []}\n{"text": "\xc3\xa9\xe9", "labels": []}\n', 2),
    "train.jsonl.gz": (b'{"text": "caf\xc3\xa9", "labels": [], "other": "caf\xe9"}\n', 1),
    "train.csv": ("text,labels\ncaf\u00e9,x\n".encode() + b"caf\xe9,x\n", 3),
    "train.tsv": ("text\tlabels\tother\n\u00e9\tx\t-\n".encode() + b"a\tx\tcaf\xe9\n", 3),
    "train.txt": ("__label__x caf\u00e9\n".encode() + b"__label__x caf\xe9\n", 2),
}


@pytest.mark.parametrize("name", NOT_UTF8)
def test_bytes_that_are_damaged_utf8_are_refused_with_their_line(tmp_path, name):
    content, line = NOT_UTF8[name]
    file = put(tmp_path / name, content)
    found, expected = "bytes that are not UTF-8 ('\\xe9')", "UTF-8; convert the file"
    assert_refused(tmp_path, file, line, found, expected)


def test_raw_text_that_is_damaged_utf8_is_refused_with_its_line(tmp_path):
    put(tmp_path / "trn_X_Y.txt", "2 1\n0:1\n0:1\n")
    file = put(tmp_path / "trn_X.txt", "caf\u00e9\n".encode() + b"caf\xe9\n")
    assert_refused(tmp_path, file, 2, "bytes that are not UTF-8", "convert the file")


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("name", ["train.jsonl", "train.csv", "train.txt"])
def test_a_truncated_file_is_refused_by_name(tmp_path, compression, kept, name):
    content = {
        "train.jsonl": jsonl([{"text": str(i * 7919), "labels": [i % 5]} for i in range(2000)]),
        "train.csv": "text,labels\n" + "".join(f"{i * 7919},{i % 5}\n" for i in range(2000)),
        "train.txt": "".join(f"__label__x {i * 7919}\n" for i in range(2000)),
    }[name]
    suffix = {"gzip": ".gz", "zstd": ".zst"}[compression]
    file = put(tmp_path / f"{name}{suffix}", content)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * kept)])
    assert_refused(tmp_path, file, None, f"truncated or damaged {compression} data", f"a whole {compression}")


def test_a_damaged_gzip_is_refused_by_name(tmp_path):
    data = bytearray(gzip.compress(GOOD.encode() * 50))
    data[-8] ^= 255  # the checksum
    (tmp_path / "train.jsonl.gz").write_bytes(data)
    assert_refused(
        tmp_path, tmp_path / "train.jsonl.gz", None, "truncated or damaged gzip data", "a whole gzip"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("train.jsonl", "train.jsonl.gz"),
        ("train.jsonl", "train.csv"),
        ("test.tsv", "test.parquet"),
        ("valid.jsonl", "dev.jsonl"),
        ("labels.jsonl", "labels.txt"),
    ],
)
def test_two_files_for_one_thing_are_refused_by_name(tmp_path, one, other):
    put(tmp_path / "train.jsonl", GOOD)
    for name in (one, other):
        put(tmp_path / name, GOOD)
    error = refusal(tmp_path)
    assert error.path == tmp_path
    assert one in error.found
    assert other in error.found


def test_two_texts_of_one_split_are_refused_by_name(tmp_path):
    put(tmp_path / "trn_X_Y.txt", "1 1\n0:1\n")
    put(tmp_path / "trn_X.txt", "a\n")
    put(tmp_path / "trn_X.txt.gz", "a\n")
    assert_refused(tmp_path, tmp_path, None, "trn_X.txt and trn_X.txt.gz side by side", "one of them")


def test_a_path_that_is_not_there_is_refused(tmp_path):
    assert_refused(tmp_path / "nowhere", tmp_path / "nowhere", None, "no such file or folder", "")


def test_a_folder_with_nothing_recognisable_says_what_was_looked_for(tmp_path):
    put(tmp_path / "data.docx", "x")
    error = refusal(tmp_path)
    assert "it has data.docx" in error.found
    for name in ("train.jsonl", "trn.json", "trn_X_Y.txt", "train_texts.txt", "__label__"):
        assert name in (error.expected or "")


def test_an_empty_folder_says_so(tmp_path):
    assert "it has nothing" in refusal(tmp_path).found


def test_a_file_of_unknown_suffix_says_which_are_known(tmp_path):
    file = put(tmp_path / "data.docx", "x")
    assert_refused(
        file, file, None, "the suffix '.docx'", ".csv, .tsv, .parquet, .arrow, .feather, .xlsx, .db"
    )


def test_a_text_file_that_is_not_fasttext_is_refused(tmp_path):
    file = put(tmp_path / "data.txt", "just words\n")
    assert_refused(file, file, None, "lines without __label__", "fastText lines")


@pytest.mark.parametrize("what", ["file", "folder", "parquet"])
def test_what_may_not_be_read_is_refused_by_name(tmp_path, what):
    if not hasattr(os, "setuid") or os.getuid() != 0:
        pytest.skip("only root can become somebody who may read nothing")
    folder = tmp_path / "data"
    secret = rows_folder(folder, GOOD)
    if what == "parquet":
        secret.unlink()
        secret = put(folder / "train.parquet", b"PAR1")
    at_fault = folder if what == "folder" else secret
    at_fault.chmod(0)
    # Everything is imported first: the unprivileged user may not be allowed to read the library either.
    code = """
import os, sys
from tailwright.data.read import read
from tailwright.errors import InputError
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    read(sys.argv[1])
except InputError as error:
    print(error)
"""
    inside = [parent for parent in [tmp_path, *tmp_path.parents] if Path(gettempdir()) in parent.parents]
    for parent in inside:
        parent.chmod(parent.stat().st_mode | 0o011)
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout == f"{at_fault}: no permission to read it, expected a readable file\n"
