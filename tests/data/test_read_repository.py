"""The extreme-classification repository's files, texts with label tokens, and fastText's lines."""

from __future__ import annotations

import numpy as np
import pytest
from format_samples import jsonl, label_lists, put

from tailwright.data.formats.xc import read_filter_pairs, read_label_matrix
from tailwright.data.read import read
from tailwright.errors import InputError


def xc_folder(folder, suffix=""):
    put(folder / f"trn_X_Y.txt{suffix}", "3 4\n0:1.00000 3:0.25\n\n2:1\n")
    put(folder / f"trn_X.txt{suffix}", "first\nsecond\nthird\n")
    put(folder / f"tst_X_Y.txt{suffix}", "1 4\n1:1")
    put(folder / f"tst_X.txt{suffix}", "fourth")
    put(folder / f"Y.txt{suffix}", "a\nb\nc\nc\n")
    return folder


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_label_matrices_with_raw_text_are_read(tmp_path, suffix):
    corpus = read(xc_folder(tmp_path, suffix))
    assert corpus.train.texts.to_pylist() == ["first", "second", "third"]
    assert corpus.train.targets.toarray().tolist() == [[1, 0, 0, 0.25], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert label_lists(corpus.test) == [[1]]
    assert corpus.labels.ids.to_pylist() == ["0", "1", "2", "3"]
    assert corpus.labels.texts.to_pylist() == ["a", "b", "c", "c"]


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("filter_labels_train.txt", "filter_labels_test.txt"),
        ("trn_filter_labels.txt", "tst_filter_labels.txt"),
    ],
)
def test_filter_files_become_excluded_pairs(tmp_path, train, test):
    xc_folder(tmp_path)
    put(tmp_path / train, "0 1\n0 1\n2 3\n")
    put(tmp_path / test, "")
    corpus = read(tmp_path)
    assert corpus.train.excluded.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert corpus.test.excluded.nnz == 0


def test_label_texts_are_optional(tmp_path):
    (xc_folder(tmp_path) / "Y.txt").unlink()
    labels = read(tmp_path).labels
    assert labels.names.to_pylist() == ["0", "1", "2", "3"]
    assert labels.texts.to_pylist() == ["", "", "", ""]


def test_raw_texts_may_be_spelled_out(tmp_path):
    xc_folder(tmp_path)
    (tmp_path / "trn_X.txt").rename(tmp_path / "train_raw_texts.txt")
    assert read(tmp_path).train.texts.to_pylist() == ["first", "second", "third"]


def test_a_label_matrix_is_read_on_its_own(tmp_path):
    matrix = read_label_matrix(put(tmp_path / "m.txt.gz", "2 3\r\n2:0.1 0:1\r\n\r\n"))
    assert matrix.toarray().tolist() == [[1, 0, np.float32(0.1)], [0, 0, 0]]
    assert matrix.has_sorted_indices


def test_a_label_matrix_without_pairs_is_read(tmp_path):
    matrix = read_label_matrix(put(tmp_path / "m.txt", "2 3\n\n\n"))
    assert matrix.shape == (2, 3)
    assert matrix.nnz == 0


@pytest.mark.parametrize(("content", "pairs"), [("", 0), ("1 2\n", 1), ("1\t2\n\n0 0", 2)])
def test_a_filter_file_may_have_any_number_of_lines(tmp_path, content, pairs):
    matrix = read_filter_pairs(put(tmp_path / "f.txt", content), 2, 3)
    assert matrix.shape == (2, 3)
    assert matrix.nnz == pairs


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_raw_json_is_read_with_uids_as_label_ids(tmp_path, suffix):
    row = {"uid": "r", "title": "A", "content": "b", "target_ind": [1, 0], "target_rel": [1.0, 0.5]}
    put(tmp_path / f"trn.json{suffix}", jsonl([row, {**row, "content": ""}]))
    put(tmp_path / f"tst.json{suffix}", jsonl([{**row, "target_ind": [], "target_rel": []}]))
    put(
        tmp_path / f"lbl.json{suffix}",
        jsonl([{"uid": "B0", "title": "x", "content": "y"}, {"uid": "1", "title": "z"}]),
    )
    put(tmp_path / "filter_labels_test.txt", "0 1\n")
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["A b", "A"]
    assert corpus.train.targets.toarray().tolist() == [[0.5, 1], [0.5, 1]]
    assert corpus.test.excluded.toarray().tolist() == [[0, 1]]
    assert corpus.labels.ids.to_pylist() == ["B0", "1"]
    assert corpus.labels.names.to_pylist() == ["x", "z"]
    assert corpus.labels.texts.to_pylist() == ["x y", "z"]


def test_raw_json_counts_before_label_matrices(tmp_path):
    xc_folder(tmp_path)
    put(tmp_path / "trn.json", jsonl([{"title": "A", "target_ind": [0], "target_rel": [1.0]}]))
    put(tmp_path / "lbl.json", jsonl([{"uid": "B0", "title": "x"}]))
    assert read(tmp_path).train.texts.to_pylist() == ["A"]


def test_a_target_beyond_the_label_file_is_refused(tmp_path):
    put(tmp_path / "trn.json", jsonl([{"title": "A", "target_ind": [1], "target_rel": [1.0]}]))
    put(tmp_path / "lbl.json", jsonl([{"uid": "1", "title": "x"}]))
    with pytest.raises(InputError, match=r"trn\.json:1: label id 1, expected an id in 0\.\.0$"):
        read(tmp_path)


def test_texts_and_label_tokens_are_read(tmp_path):
    put(tmp_path / "train_texts.txt", "first\n\nthird\n")
    put(tmp_path / "train_labels.txt", "b a\n\nc\n")
    put(tmp_path / "test_texts.txt", "fourth\n")
    put(tmp_path / "test_labels.txt", "a\n")
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["first", "", "third"]
    assert corpus.labels.names.to_pylist() == ["a", "b", "c"]
    assert label_lists(corpus.train) == [[0, 1], [], [2]]
    assert label_lists(corpus.test) == [[0]]


def test_raw_texts_are_preferred_to_tokenised_ones(tmp_path):
    put(tmp_path / "train_texts.txt", "raw text /SEP/\n")
    put(tmp_path / "train_raw_texts.txt", "Raw text.\n")
    put(tmp_path / "train_labels.txt", "10 9\n")
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["Raw text."]
    assert corpus.labels.ids.to_pylist() == ["9", "10"]


def test_fasttext_lines_are_read(tmp_path):
    put(tmp_path / "train.txt", "__label__b __label__a first  text\nno label\n__label__c\n")
    put(tmp_path / "test.txt", "__label__a a __label__b inside\n")
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["first  text", "no label", ""]
    assert label_lists(corpus.train) == [[0, 1], [], [2]]
    assert corpus.test.texts.to_pylist() == ["a inside"]
    assert corpus.labels.names.to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize("place", ["folder", "file"])
def test_features_without_text_are_refused_with_advice(tmp_path, place):
    path = put(tmp_path / "train.txt", "2 10 3\n0,1 4:0.5\n2 7:1\n")
    with pytest.raises(InputError, match="this file has features and no text, so add raw text") as caught:
        read(tmp_path if place == "folder" else path)
    assert (caught.value.path, caught.value.line) == (path, 1)


def test_a_label_matrix_without_text_is_refused_with_advice(tmp_path):
    (xc_folder(tmp_path) / "trn_X.txt").unlink()
    with pytest.raises(
        InputError, match=r"trn_X_Y.txt without the text of its rows, expected raw text in trn_X.txt"
    ):
        read(tmp_path)
