"""Word vectors: drawn, from a package, or from a table in a file; tables that are too narrow."""

from __future__ import annotations

import gzip
import importlib.metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from tailwright.checks.corpora import tiny_corpus
from tailwright.data.text.vocabulary import WordVocabulary
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.pretrained.packages import Package
from tailwright.pretrained.word_packages import GLOVE, SPACY, WORDLLAMA, read_key2row, word_hash
from tailwright.pretrained.word_vectors import word_table, word_vectors
from tailwright.settings import settings_from

PACKAGES = pytest.mark.parametrize("package", [GLOVE, SPACY, WORDLLAMA], ids=lambda package: package.name)
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


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that packages are installed in."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def installed(site: Path, package: Package, version: str = "") -> Path:
    """The place of the package's file, in a package whose code must not be run."""
    path = site / package.file
    path.parent.mkdir(parents=True)
    top = site / Path(package.file).parts[0]
    (top / "__init__.py").write_text("raise RuntimeError('the code of the package is not run')\n")
    name = package.distribution.replace("-", "_")
    information = site / f"{name}-{version or package.version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package.distribution}\nVersion: {version or package.version}\n"
    )
    return path


def test_glove_comes_from_its_packages_files(site):
    path = installed(site, GLOVE)
    pq.write_table(pa.table({"index": ["the", "red", "hat"]}), path.with_name("glove_6B_index.parquet"))
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(path, table)
    found = word_vectors(WORDS, 2, "glove")
    np.testing.assert_allclose(found[2], table[1] / np.linalg.norm(table[1]), rtol=1e-6)
    np.testing.assert_allclose(found[1], table[2] / np.linalg.norm(table[2]), rtol=1e-6)


def key2row(lines: dict[int, int]) -> bytes:
    """As msgpack: every number in the shortest of its forms."""

    def number(value: int) -> bytes:
        if value < 0x80:
            return bytes([value])
        size = next(size for size in (1, 2, 4, 8) if value < 256**size)
        return bytes([{1: 0xCC, 2: 0xCD, 4: 0xCE, 8: 0xCF}[size]]) + value.to_bytes(size, "big")

    pairs = b"".join(number(key) + number(line) for key, line in lines.items())
    return b"\xdf" + len(lines).to_bytes(4, "big") + pairs


def test_spacys_vectors_are_found_by_the_hashes_of_words(site):
    path = installed(site, SPACY)
    table = np.arange(600, dtype=np.float32).reshape(300, 2)
    with path.open("wb") as file:
        np.save(file, table)
    lines = {word_hash("hat"): 2, word_hash("red"): 299, word_hash("shoe"): 70_000, 5: 1, 200: 128}
    path.with_name("key2row").write_bytes(key2row(lines))
    words = WordVocabulary(WORDS)
    found = word_table(words, 2, "spacy")
    np.testing.assert_array_equal(found[3:], [table[2], table[299]])
    np.testing.assert_array_equal(found[:3], word_table(words, 2, "random")[:3])


@pytest.mark.parametrize(
    "lines", [{}, {0: 0}, {127: 128, 255: 256, 65535: 65536, 2**32 - 1: 2**32, 2**64 - 1: 3}]
)
def test_lines_of_hashes_are_read_in_every_form_of_a_number(tmp_path, lines):
    (tmp_path / "key2row").write_bytes(key2row(lines))
    assert read_key2row(tmp_path / "key2row") == lines


@pytest.mark.parametrize(
    "content",
    [b"", b"\x81\x01\x02", key2row({1: 2})[:-1], key2row({1: 2}) + b"\x01", b"\xdf\0\0\0\x01\xc0\x01"],
)
def test_damaged_lines_of_hashes_are_said_in_one_line(tmp_path, content):
    (tmp_path / "key2row").write_bytes(content)
    with pytest.raises(InputError, match=r"key2row: cannot be read .*expected spaCy's lines of vectors"):
        read_key2row(tmp_path / "key2row")


def test_in_wordllamas_table_a_word_is_the_mean_of_its_pieces(site):
    path = installed(site, WORDLLAMA)
    table = np.array([[9, 9], [1, 2], [3, 8]], dtype=np.float16)
    save_file({"embedding.weight": table}, path)
    tokenizer = Tokenizer(WordLevel({"<unk>": 0, "h": 1, "at": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Split("h", "isolated")
    folder = site / "wordllama" / "tokenizers"
    folder.mkdir()
    tokenizer.save(str(folder / "l2_supercat_tokenizer_config.json"))
    words = WordVocabulary(WORDS)
    found = word_table(words, 2, "wordllama")
    np.testing.assert_array_equal(found[3], [2, 5])
    # Pieces that the table does not know say nothing of "bridge" and "red".
    np.testing.assert_array_equal(found[[2, 4]], word_table(words, 2, "random")[[2, 4]])


@PACKAGES
def test_a_table_without_its_package_names_the_install_command(package, monkeypatch):
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(InputError, match=f"{package.name} .*install them with: {package.install}"):
        word_vectors(WORDS, 300, package.name)


@PACKAGES
def test_another_version_of_a_package_is_refused_in_one_line(package, site):
    installed(site, package, version="0.0.1").write_bytes(b"")
    with pytest.raises(
        InputError, match=rf"{package.distribution} 0\.0\.1 is installed, expected pip install"
    ):
        word_vectors(WORDS, 300, package.name)


@pytest.mark.parametrize(("source", "width"), [("glove", 50), ("spacy", 300), ("wordllama", 256)])
def test_the_real_tables_have_the_widths_that_the_settings_promise(source, width):
    package = {"glove": GLOVE, "spacy": SPACY, "wordllama": WORDLLAMA}[source]
    try:
        importlib.metadata.distribution(package.distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package.distribution} is not installed")
    words = WordVocabulary.build(["king queen banana zzqxv"])
    table = word_table(words, width, source)
    place = {word: row for row, word in enumerate(words.vocabulary.to_pylist(), start=2)}
    king, queen, banana = (table[place[word]] for word in ("king", "queen", "banana"))
    unit = [vector / np.linalg.norm(vector) for vector in (king, queen, banana)]
    assert unit[0] @ unit[1] > unit[0] @ unit[2]
    assert np.isfinite(table).all()


def test_a_table_narrower_than_the_model_is_refused_with_both_widths_and_the_fix(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("hat 3 4\n")
    with pytest.raises(
        InputError,
        match=r"v\.txt has word vectors of 2 numbers, expected width=6; set width=2, or pad_vectors=true to",
    ):
        word_table(WordVocabulary(WORDS), 6, str(path))


@pytest.mark.parametrize("name", ["attentionxml", "xml-cnn"])
def test_models_over_words_fill_up_a_narrow_table_only_if_asked(name, tmp_path):
    path, corpus = tmp_path / "v.txt", tiny_corpus(20)
    path.write_text(
        "".join(f"{word} 3 4\n" for word in WordVocabulary.build(corpus.train.texts).vocabulary.to_pylist())
    )
    model = models.get(name)
    small = {"epochs": 1, "width": 4, "vectors": str(path), "learn_words": False}
    with pytest.raises(InputError, match="word vectors of 2 numbers, expected width=4"):
        model(settings_from(model.Settings, small)).fit(corpus, seed=0)
    padded = model(settings_from(model.Settings, {**small, "pad_vectors": True}))
    padded.fit(corpus, seed=0)
    table = padded.network.encoder.words.table.array
    assert (table[2:, :2] == [3, 4]).all()
    assert len(np.unique(table[2:, 2])) == len(table) - 2
