"""TF-IDF: equal to scikit-learn's, kept on disk without loss, and checked when it is read back."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_datasets import TEXT_DATASETS
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from tailwright.data.text import blocks
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
from tailwright.store import DamagedFolderError, FolderWriter, open_folder, writing

TEXTS = ["Red hat, red shoe", "", "blue hat", "?!", "ΟΔΟΣ İ red RED red", "shoe shoe hat tie"]


def reference(**settings: object) -> TfidfVectorizer:
    return TfidfVectorizer(**{"sublinear_tf": True, "token_pattern": r"\w+", **settings})


def assert_same(features: TfIdf, matrix: sparse.csr_array, peer: TfidfVectorizer, theirs: object) -> None:
    assert features.vocabulary.to_pylist() == peer.get_feature_names_out().tolist()
    assert features.idf == pytest.approx(peer.idf_, abs=1e-12)
    expected = sparse.csr_array(theirs)
    expected.sort_indices()
    assert matrix.shape == expected.shape
    assert np.array_equal(matrix.indptr, expected.indptr)
    assert np.array_equal(matrix.indices, expected.indices)
    assert np.abs(matrix.data - expected.data).max(initial=0) <= 1e-6


def some_texts(path: Path, rows: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in islice(lines, rows)]


@pytest.mark.parametrize("dataset", TEXT_DATASETS)
def test_real_texts_give_the_values_of_scikit_learn(real_data: Path, dataset: str) -> None:
    train = some_texts(real_data / dataset / "train.jsonl.gz", 3000)
    test = some_texts(real_data / dataset / "test.jsonl.gz", 1000)
    features, matrix = TfIdf.fit_transform(train)
    peer = reference()
    assert_same(features, matrix, peer, peer.fit_transform(train))
    assert_same(features, features.transform(test), peer, peer.transform(test))


@given(st.lists(st.text()), st.lists(st.text()))
def test_any_texts_give_the_values_of_scikit_learn(train: list[str], test: list[str]) -> None:
    # scikit-learn refuses texts without a single word.
    train = [*train, "word"]
    features, matrix = TfIdf.fit_transform(train)
    peer = reference()
    assert_same(features, matrix, peer, peer.fit_transform(train))
    if test:
        assert_same(features, features.transform(test), peer, peer.transform(test))


@pytest.mark.parametrize(
    ("settings", "theirs"),
    [
        (TfIdfSettings(sublinear=False), {"sublinear_tf": False}),
        (TfIdfSettings(min_count=2), {"min_df": 2}),
        # red occurs 5 times, hat and shoe 3 times, all others once
        (TfIdfSettings(max_features=1), {"max_features": 1}),
        (TfIdfSettings(max_features=3), {"max_features": 3}),
        (TfIdfSettings(min_count=2, max_features=1), {"min_df": 2, "max_features": 1}),
        (TfIdfSettings(max_features=100), {"max_features": 100}),
    ],
)
def test_settings_mean_what_they_mean_in_scikit_learn(
    settings: TfIdfSettings, theirs: dict[str, int]
) -> None:
    features, matrix = TfIdf.fit_transform(TEXTS, settings)
    peer = reference(**theirs)
    assert_same(features, matrix, peer, peer.fit_transform(TEXTS))
    assert_same(features, features.transform(TEXTS), peer, peer.transform(TEXTS))


def test_among_words_as_frequent_the_first_in_order_are_kept() -> None:
    assert TfIdf.fit(["d c", "b a"], TfIdfSettings(max_features=3)).vocabulary.to_pylist() == ["a", "b", "c"]


def test_the_matrix_is_float32_with_sorted_int32_indices() -> None:
    _, matrix = TfIdf.fit_transform(TEXTS)
    assert (matrix.dtype, matrix.indices.dtype, matrix.indptr.dtype) == (np.float32, np.int32, np.int32)
    checked = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    assert checked.has_canonical_format


def test_rows_without_known_words_are_empty() -> None:
    matrix = TfIdf.fit(["red hat"]).transform(["", "unseen words", "hat", "?"])
    assert np.diff(matrix.indptr).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("texts", [[], [""], ["", "?!"]])
def test_texts_without_words_have_no_columns(texts: list[str]) -> None:
    features, matrix = TfIdf.fit_transform(texts)
    assert (len(features.vocabulary), matrix.shape, matrix.nnz) == (0, (len(texts), 0), 0)
    assert features.transform(["red hat"]).shape == (1, 0)


def test_fit_and_fit_transform_agree() -> None:
    settings = TfIdfSettings(min_count=2)
    alone, (together, _) = TfIdf.fit(TEXTS, settings), TfIdf.fit_transform(TEXTS, settings)
    assert alone.vocabulary.equals(together.vocabulary)
    assert np.array_equal(alone.idf, together.idf)
    assert alone.settings == together.settings == settings


@pytest.mark.parametrize("threads", [2, 5])
def test_the_number_of_threads_changes_no_bit(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "SMALLEST_BLOCK", 1)
    one, one_matrix = TfIdf.fit_transform(TEXTS, threads=1)
    many, many_matrix = TfIdf.fit_transform(TEXTS, threads=threads)
    assert one.vocabulary.equals(many.vocabulary)
    assert np.array_equal(one.idf, many.idf)
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(one_matrix, part), getattr(many_matrix, part))
        assert np.array_equal(
            getattr(one.transform(TEXTS, threads=1), part),
            getattr(one.transform(TEXTS, threads=threads), part),
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_count": 0}, "min_count must be >= 1, got 0"),
        ({"min_count": 1.5}, "min_count must be a whole number, got 1.5"),
        ({"max_features": 0}, "max_features must be >= 1 or none, got 0"),
        ({"max_features": "all"}, "max_features must be a whole number or none, got 'all'"),
        ({"sublinear": "yes"}, "sublinear must be true or false, got 'yes'"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as error:
        TfIdfSettings(**settings)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_a_fitted_object_cannot_be_changed_through_its_arrays() -> None:
    features = TfIdf.fit(TEXTS)
    with pytest.raises(ValueError, match="read-only"):
        features.idf[0] = 2


@given(st.lists(st.text()), st.integers(1, 3), st.booleans())
def test_saving_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], min_count: int, sublinear: bool
) -> None:
    place = tmp_path_factory.mktemp("tfidf") / "run"
    features, matrix = TfIdf.fit_transform(texts, TfIdfSettings(min_count=min_count, sublinear=sublinear))
    with writing(place, kind="run") as folder:
        features.save(folder.sub("features"))
    loaded = TfIdf.load(open_folder(place, kind="run").sub("features"))
    assert loaded.settings == features.settings
    assert loaded.vocabulary.equals(features.vocabulary)
    assert np.array_equal(loaded.idf, features.idf)
    assert np.array_equal(loaded.transform(texts).toarray(), matrix.toarray())


def write_by_hand(folder: FolderWriter, settings: object, words: list[str], idf: list[float]) -> None:
    folder.json("tfidf.json", settings)
    folder.strings("vocabulary", pa.array(words, pa.large_string()))
    folder.array("idf", np.array(idf, dtype=np.float64))


@pytest.mark.parametrize(
    ("settings", "words", "idf", "message"),
    [
        ({}, ["a", "b"], [1.0], r"idf has shape \(1,\), expected \(2,\)"),
        ({}, ["a", "b"], [1.0, np.nan], "idf must be finite and > 0"),
        ({}, ["a", "b"], [1.0, np.inf], "idf must be finite and > 0"),
        ({}, ["a", "b"], [1.0, 0.0], "idf must be finite and > 0"),
        ({}, ["a", "a"], [1.0, 1.0], "the vocabulary has 'a' twice"),
        ({"min_count": 0}, [], [], "min_count must be"),
        ({"colour": 1}, [], [], "colour"),
        ([1], [], [], "mapping"),
    ],
)
def test_a_damaged_folder_is_refused(
    tmp_path: Path, settings: object, words: list[str], idf: list[float], message: str
) -> None:
    with writing(tmp_path / "run", kind="run") as folder:
        write_by_hand(folder, settings, words, idf)
    with pytest.raises(DamagedFolderError, match=message):
        TfIdf.load(open_folder(tmp_path / "run", kind="run"))
