"""Words and their pieces as features: scikit-learn's weights, unseen words, folders."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from tailwright.data.dataset import arrow_strings
from tailwright.encoders.subwords import SubwordSettings, SubwordTfIdf, cut_word, expected_size
from tailwright.store import DamagedFolderError, open_folder, writing

TEXTS = ["CreateFile function", "FileHandle: files, files!", "été 日本語", "", "a function of a file"]
SETTINGS = SubwordSettings(length=4, weight=0.5)


def peer(length: int) -> TfidfVectorizer:
    def analyse(text: str) -> list[str]:
        import re

        return [piece for word in re.findall(r"\w+", text.lower()) for piece in cut_word(word, length)]

    return TfidfVectorizer(analyzer=analyse, sublinear_tf=True, min_df=2)


def test_pieces_are_weighed_as_scikit_learn_weighs_them():
    features, matrix = SubwordTfIdf.fit_transform(TEXTS, SETTINGS)
    expected = peer(4).fit(TEXTS)
    assert features.pieces.to_pylist() == sorted(expected.vocabulary_)
    pieces = matrix[:, len(features.words.vocabulary) :].toarray()
    np.testing.assert_allclose(pieces, 0.5 * expected.transform(TEXTS).toarray(), rtol=1e-5)
    words = matrix[:, : len(features.words.vocabulary)]
    np.testing.assert_array_equal(words.toarray(), features.words.transform(TEXTS).toarray())


def test_transform_gives_what_fitting_gave():
    features, matrix = SubwordTfIdf.fit_transform(TEXTS, SETTINGS)
    np.testing.assert_array_equal(features.transform(TEXTS).toarray(), matrix.toarray())
    assert features.columns == matrix.shape[1]


def test_an_unseen_word_is_read_by_its_pieces():
    features, _ = SubwordTfIdf.fit_transform(TEXTS, SETTINGS)
    row = features.transform(["profiles"])
    assert set(features.pieces.take(row.indices - len(features.words.vocabulary)).to_pylist()) == {"file"}


def test_length_zero_is_words_alone():
    features, matrix = SubwordTfIdf.fit_transform(TEXTS, SubwordSettings(length=0))
    assert matrix.shape[1] == len(features.words.vocabulary)
    assert features.transform([]).shape == (0, matrix.shape[1])


def test_a_folder_keeps_them(tmp_path):
    features, matrix = SubwordTfIdf.fit_transform(TEXTS, SETTINGS)
    with writing(tmp_path / "f", kind="features") as folder:
        features.save(folder)
    loaded = SubwordTfIdf.load(open_folder(tmp_path / "f", kind="features"))
    np.testing.assert_array_equal(loaded.transform(TEXTS).toarray(), matrix.toarray())


def test_damaged_settings_are_one_line(tmp_path):
    features, _ = SubwordTfIdf.fit_transform(TEXTS, SETTINGS)
    with writing(tmp_path / "f", kind="features") as folder:
        features.words.save(folder.sub("words"))
        folder.json("subwords.json", {"length": 1})
        folder.strings("pieces", features.pieces)
        folder.array("piece_idf", features.idf)
    with pytest.raises(DamagedFolderError, match="length must be 0 or >= 2, got 1"):
        SubwordTfIdf.load(open_folder(tmp_path / "f", kind="features"))


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match=r"weight must be in \(0, 1000000\], got 0"):
        SubwordSettings(weight=0)


def test_the_size_of_features_is_known_by_an_eighth_of_the_texts():
    random = np.random.Generator(np.random.Philox(key=1))
    words = (5000 ** random.random((8000, 6))).astype(int)  # by Zipf's law
    texts = arrow_strings([" ".join(f"w{word * 7919}" for word in row) for row in words])
    columns, size = expected_size(texts, SubwordSettings())
    features, matrix = SubwordTfIdf.fit_transform(texts, SubwordSettings())
    assert 0.8 * features.columns < columns < 2 * features.columns
    # A sample has fewer pieces that two texts share.
    assert size == pytest.approx(8 * (matrix.nnz + len(texts)), rel=0.1)


@pytest.mark.parametrize("texts", [[], [""], ["one text"]])
def test_few_texts_have_a_size_too(texts):
    columns, size = expected_size(arrow_strings(texts), SubwordSettings())
    assert columns >= 0
    assert size >= 0
