"""Writers: lossless formats give the corpus back, the others what they can carry, and disks may fill up."""

from __future__ import annotations

import errno
import gzip
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from format_samples import awkward_corpora
from hypothesis import assume, example, given
from strategies import corpora, few

from tailwright.data.corpus import Corpus, LabelSpace, corpus_from_lists
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.formats import outgoing
from tailwright.data.formats.outgoing import short_floats
from tailwright.data.pairs import empty_pairs, pairs_from_lists, same_pairs
from tailwright.data.read import read
from tailwright.data.write import FORMATS, WriteReport, write
from tailwright.errors import InputError, TailwrightError

LOSSLESS = ("jsonl", "jsonl.gz", "jsonl.zst", "csv", "tsv", "parquet")
FEW = few(12)  # of each format


def there_and_back(corpus: Corpus, kind: str) -> tuple[Corpus, WriteReport]:
    with tempfile.TemporaryDirectory() as folder:
        report = write(corpus, Path(folder) / "corpus", format=kind)
        assert report.files == tuple(sorted(path.name for path in (Path(folder) / "corpus").iterdir()))
        return read(Path(folder) / "corpus"), report


def small() -> Corpus:
    return corpus_from_lists(["red shoes", "hat"], [[1, 0], [2]], ["red", "shoes", "hats"])


def full() -> Corpus:
    """Every column differs from its neutral value, and every text has what formats stumble over."""
    texts = ['two\nlines, "quoted"\t', "", "  \U0001f600 spaces  ", "[1]", "\ufeff\r\n\0"]
    labels = 3
    train = Dataset(
        arrow_strings(texts),
        pairs_from_lists([[0, 1], [2], [], [1], [0]], labels, [[0.1, 1 / 3], [1], [], [2**-20], [0.7]]),
        np.array([1, 0, 0.1, 2, 1e-30], dtype=np.float32),
        pairs_from_lists([[2], [], [0, 1], [], []], labels),
        pairs_from_lists([[], [0, 1], [], [2], []], labels),
        Origin(np.array([4, 4, 0, 1, 9]), np.array([0, 1, 1, 0, 1]), ("", "eda, twice")),
        ids=["7", "", "a, b", " x", "7"],
    )
    space = LabelSpace(
        arrow_strings(["7", "a|b", "c"]),
        arrow_strings(["x;y, z", "a|b", ""]),
        arrow_strings(["text\nof x", "", '"q"']),
    )
    return Corpus(train, space, valid=train.take([0]), test=train.take([2, 1]))


@pytest.mark.parametrize("kind", LOSSLESS)
@FEW
@given(corpus=corpora())
@example(corpus=full())
def test_a_lossless_format_gives_every_column_back(kind, corpus):
    back, report = there_and_back(corpus, kind)
    assert back.same_as(corpus)
    assert report.lost == ()
    assert report.format == kind


@pytest.mark.parametrize("kind", LOSSLESS)
@FEW
@given(corpus=awkward_corpora())
def test_awkward_ids_and_names_come_back(kind, corpus):
    assert there_and_back(corpus, kind)[0].same_as(corpus)


@pytest.mark.parametrize("kind", LOSSLESS)
def test_label_weights_come_back_to_the_bit(kind):
    corpus = full()
    weights = np.array([0.1, 1e-30, 1 / 3], dtype=np.float32)
    splits = {name: replace(data, label_weights=weights) for name, data in corpus.splits().items()}
    back, report = there_and_back(Corpus.of_splits(corpus.labels, splits), kind)
    np.testing.assert_array_equal(back.train.label_weights, weights)
    assert back.valid.label_weights is None  # it has no made row
    np.testing.assert_array_equal(back.test.label_weights, weights)
    assert report.lost == ()


@pytest.mark.parametrize("kind", LOSSLESS)
def test_splits_with_different_label_weights_are_refused(kind, tmp_path):
    corpus = full()
    weighted = corpus.with_train(replace(corpus.train, label_weights=np.ones(3)))
    with pytest.raises(InputError, match="made rows of train and test have different label weights"):
        write(weighted, tmp_path / "corpus", format=kind)
    assert not (tmp_path / "corpus").exists()


def carried(corpus: Corpus, *, soft: bool, excluded: bool, ids: bool, line_breaks: bool) -> Corpus:
    """The part of a corpus that a format can carry."""

    def shown(texts):
        return texts if line_breaks else outgoing.one_line(texts)

    def part(data: Dataset) -> Dataset:
        targets = data.targets.copy()
        if not soft:
            targets.data = np.ones_like(targets.data)
        pairs = data.excluded if excluded else empty_pairs(len(data), data.labels)
        return Dataset(shown(data.texts), targets, excluded=pairs, ids=data.ids if ids else None)

    space = corpus.labels
    label_ids = space.ids if ids else outgoing.positions(len(space))
    texts = shown(space.texts)
    labels = LabelSpace(label_ids, outgoing.default_names(label_ids, texts), texts)
    return Corpus(labels=labels, **{name: part(data) for name, data in corpus.splits().items()})


def expected_losses(corpus: Corpus, kept: Corpus) -> set[str]:
    """What `kept` lacks of `corpus`, found by comparing the two."""

    def differs(of):
        pairs = zip(corpus.splits().values(), kept.splits().values(), strict=True)
        return any(not of(one, other) for one, other in pairs)

    mine, theirs = corpus.labels, kept.labels
    texts = differs(lambda a, b: a.texts.equals(b.texts)) or not mine.texts.equals(theirs.texts)
    named = mine.names.equals(outgoing.default_names(mine.ids, mine.texts))
    losses = {
        "soft targets": differs(lambda a, b: same_pairs(a.targets, b.targets)),
        "weights": differs(lambda a, b: np.array_equal(a.weights, b.weights)),
        "ignored pairs": differs(lambda a, b: same_pairs(a.ignored, b.ignored)),
        "excluded pairs": differs(lambda a, b: same_pairs(a.excluded, b.excluded)),
        "origin": differs(lambda a, b: a.origin.same_as(b.origin)),
        "label weights": any(data.label_weights is not None for data in corpus.splits().values()),
        "label ids": not mine.ids.equals(theirs.ids),
        "row ids": differs(lambda a, b: (a.ids is None) == (b.ids is None)),
        "label names": not named,
        "line breaks": texts,
    }
    return {name for name, lost in losses.items() if lost}


@pytest.mark.parametrize("kind", ["xc", "xc-json", "texts-labels", "fasttext"])
@FEW
@given(corpus=corpora() | awkward_corpora())
@example(corpus=full())
@example(corpus=small())
def test_a_lossy_format_gives_back_what_it_can_carry_and_says_the_rest(kind, corpus):
    assume(kind != "fasttext" or corpus.train.targets.nnz)
    repository = kind.startswith("xc")
    kept = carried(
        corpus, soft=repository, excluded=repository, ids=kind == "xc-json", line_breaks=kind == "xc-json"
    )
    back, report = there_and_back(corpus, kind)
    assert back.same_as(kept)
    assert set(report.lost) == expected_losses(corpus, kept)


def test_a_word_that_looks_like_a_fasttext_label_stays_a_word():
    corpus = corpus_from_lists(["__label__red shoes", "hat"], [[], [1]], ["red", "hats"])
    back, report = there_and_back(corpus, "fasttext")
    assert back.train.texts.to_pylist() == ["__label __red shoes", "hat"]
    assert same_pairs(back.train.targets, corpus.train.targets)
    assert report.lost == ("__label__ in a text",)


def test_fasttext_keeps_names_with_spaces_and_reads_them_back(tmp_path):
    corpus = corpus_from_lists(["red shoes", "hat"], [[1], [0]], ["winter hats", "shoes"])
    write(corpus, tmp_path / "out", format="fasttext")
    lines = (tmp_path / "out/train.txt").read_text().splitlines()
    assert lines == ["__label__shoes red shoes", "__label__winter_hats hat"]
    assert read(tmp_path / "out").same_as(corpus)


def test_fasttext_refuses_a_corpus_without_labels(tmp_path):
    with pytest.raises(InputError, match="no training row has a label"):
        write(corpus_from_lists(["a"], [[]], ["x"]), tmp_path / "out", format="fasttext")
    assert list(tmp_path.iterdir()) == []


def test_raw_json_refuses_a_corpus_without_labels(tmp_path):
    with pytest.raises(InputError, match="no labels"):
        write(corpus_from_lists(["a"], [[]], []), tmp_path / "out", format="xc-json")


@pytest.mark.parametrize("kind", [*LOSSLESS, "xc", "texts-labels"])
def test_a_corpus_without_labels_comes_back(kind):
    corpus = Corpus(Dataset(["a", ""], empty_pairs(2, 0)), LabelSpace.numbered(0))
    assert there_and_back(corpus, kind)[0].same_as(corpus)


def test_label_tokens_are_the_texts_where_these_have_no_spaces(tmp_path):
    write(small(), tmp_path / "out", format="fasttext")
    assert (
        tmp_path / "out/train.txt"
    ).read_text() == "__label__red __label__shoes red shoes\n__label__hats hat\n"
    spaced = corpus_from_lists(["red shoes"], [[1]], ["red", "two shoes"])
    write(spaced, tmp_path / "spaced", format="texts-labels")
    assert (tmp_path / "spaced/train_labels.txt").read_text() == "1\n"


def test_columns_at_their_neutral_value_are_not_written(tmp_path):
    write(small(), tmp_path / "out", format="jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out/train.jsonl").read_text().splitlines()]
    assert rows == [{"text": "red shoes", "labels": [0, 1]}, {"text": "hat", "labels": [2]}]
    write(small(), tmp_path / "csv", format="csv")
    assert (tmp_path / "csv/train.csv").read_text() == "text,labels\nred shoes,0|1\nhat,2\n"


def test_the_sparse_format_is_what_other_trainers_read(tmp_path):
    soft = replace(small().train, targets=pairs_from_lists([[0, 1], [2]], 3, [[0.25, 1], [1]]))
    report = write(small().with_train(soft), tmp_path / "out", format="xc")
    assert report.files == ("Y.txt", "trn_X.txt", "trn_X_Y.txt")
    assert (tmp_path / "out/trn_X_Y.txt").read_text() == "2 3\n0:0.25 1:1\n2:1\n"
    assert (tmp_path / "out/Y.txt").read_text() == "red\nshoes\nhats\n"


def test_the_default_is_gzipped_json_lines_without_a_date(tmp_path):
    write(small(), tmp_path / "out")
    data = (tmp_path / "out/labels.jsonl.gz").read_bytes()
    assert data[4:8] == bytes(4)  # the modification time of a gzip file
    assert gzip.decompress(data).startswith(b'{"id": 0, "text": "red"}\n')


def test_short_floats_come_back_bit_for_bit():
    rng = np.random.default_rng(0)
    values = rng.integers(1, 0x3F800001, 200_000, dtype=np.uint32).view(np.float32)
    short = short_floats(values)
    assert np.array_equal(np.array([float(repr(v)) for v in short]).astype(np.float32), values)
    assert short_floats(np.array([0.1], dtype=np.float32)) == [0.1]


def test_a_label_that_nothing_can_refer_to_is_refused(tmp_path):
    space = LabelSpace(arrow_strings(["a", "b", "c"]), arrow_strings(["b", "x", "x"]))
    corpus = Corpus(Dataset(["t"], pairs_from_lists([[1]], 3)), space)
    with pytest.raises(
        InputError, match="label 'b': other labels have its id and its name 'x' as their names"
    ):
        write(corpus, tmp_path / "out")


def test_an_unknown_format_names_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"unknown format 'xml'; there are: jsonl, jsonl\.gz, .*fasttext$"):
        write(small(), tmp_path / "out", format="xml")


def test_a_split_without_rows_is_refused(tmp_path):
    corpus = replace(small(), test=small().train.take([]))
    with pytest.raises(InputError, match="test has no rows"):
        write(corpus, tmp_path / "out")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_that_is_there_is_refused_and_left_alone(tmp_path):
    write(small(), tmp_path / "out")
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"out: exists already and is not empty, expected a new folder$"):
        write(small(), tmp_path / "out", format="csv")
    assert contents(tmp_path) == before


def test_overwrite_replaces_the_files_of_a_corpus(tmp_path):
    for kind in FORMATS:
        report = write(small(), tmp_path / "out", format=kind, overwrite=True)
        assert tuple(sorted(contents(tmp_path / "out"))) == report.files
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_overwrite_never_removes_a_file_of_somebody_else(tmp_path):
    write(small(), tmp_path / "out")
    (tmp_path / "out/thesis.tex").write_text("years of work")
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"holds thesis\.tex, which is no file of a corpus"):
        write(small(), tmp_path / "out", overwrite=True)
    assert contents(tmp_path) == before


def test_an_empty_folder_may_be_filled_and_a_file_may_not(tmp_path):
    (tmp_path / "empty").mkdir()
    write(small(), tmp_path / "empty")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file: is a file, expected a new folder$"):
        write(small(), tmp_path / "file", overwrite=True)
    assert (tmp_path / "file").read_text() == "x"


class FullDisk:
    """A sink that has room for a few bytes."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("xb")
        self.room = 5

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    closed = False

    def flush(self) -> None:
        self.file.flush()

    def write(self, data: bytes) -> int:
        self.room -= len(data)
        if self.room < 0:
            self.file.write(data[: self.room])
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.file.write(data)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("there_already", [False, True], ids=["new", "overwrite"])
def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch, kind, there_already):
    if there_already:
        write(small(), tmp_path / "deep/out")
    before = contents(tmp_path)
    for module in ("outgoing", "parquet"):
        monkeypatch.setattr(f"tailwright.data.formats.{module}.sink", FullDisk)
    with pytest.raises(
        TailwrightError, match=r"deep/out: cannot be written \(.*No space left on device.*\)$"
    ) as e:
        write(small(), tmp_path / "deep/out", format=kind, overwrite=there_already)
    assert "\n" not in str(e.value)
    assert contents(tmp_path) == before
    assert there_already or list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_that_may_not_grow_leaves_nothing_behind(tmp_path, kind):
    """The real thing: the system refuses to write beyond 64 bytes a file."""
    code = f"""
import resource, signal, sys
from tailwright.data.corpus import corpus_from_lists
from tailwright.data.write import write
from tailwright.errors import TailwrightError
texts, labels = [str(i * 7919) for i in range(500)], [[i % 3] for i in range(500)]
corpus = corpus_from_lists(texts, labels, ["a", "b", "c"])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
try:
    write(corpus, sys.argv[1], format={kind!r})
except TailwrightError as error:
    sys.stdout.write(f"refused: {{error}}")
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, tmp_path / "out"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"refused: {tmp_path / 'out'}: cannot be written (")
    assert done.stdout.count("\n") == 0
    assert list(tmp_path.iterdir()) == []
