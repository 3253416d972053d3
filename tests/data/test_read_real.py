"""The real datasets are read without a flag, and hold what their statistics say."""

from __future__ import annotations

import json

import pytest
from real_datasets import TEXT_DATASETS

from tailwright.data.formats.xc import read_filter_pairs, read_label_matrix
from tailwright.data.read import read


@pytest.mark.parametrize("name", TEXT_DATASETS)
def test_a_real_dataset_has_the_rows_and_labels_it_says(real_data, name):
    corpus = read(real_data / name)
    stats = json.loads((real_data / name / "stats.json").read_text())
    assert len(corpus.train) == stats["n_train"]
    assert len(corpus.test) == stats["n_test"]
    assert len(corpus.labels) == stats["n_labels"]
    assert int((corpus.labels.counts > 0).sum()) == stats["labels_in_train"]
    assert int(corpus.labels.counts.max()) == stats["max_label_freq"]
    assert (corpus.valid is not None) == (name == "tibkat-gnd-en")


def test_own_labels_of_a_real_dataset_are_excluded(real_data):
    corpus = read(real_data / "winapi-seealso")
    assert corpus.train.excluded.nnz > 0
    assert corpus.train.excluded.multiply(corpus.train.targets).nnz == 0


def test_the_real_label_matrix_and_filter_file_have_the_published_sizes(real_data):
    folder = real_data / "amazontitles131k-labels"
    matrix = read_label_matrix(folder / "tst_X_Y.txt.gz")
    assert (matrix.shape, matrix.nnz) == ((134_835, 131_073), 284_746)
    excluded = read_filter_pairs(folder / "tst_filter_labels.txt.gz", *matrix.shape)
    assert excluded.nnz == 79_663
    assert excluded.multiply(matrix).nnz == 0
