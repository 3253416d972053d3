"""Predictions in files: what was written is what is read, as a table and as a corpus."""

from __future__ import annotations

import csv
import gzip
import io

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import texts as any_text

from tailwright.data import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.read import read
from tailwright.data.text_source import TextBlock, text_source
from tailwright.errors import InputError
from tailwright.runs import Predictions
from tailwright.runs.prediction_files import Labelled, refuse_table, write_predictions

names = any_text.map(str.strip).filter(bool)  # blanks around a label are no part of it


@st.composite
def labelled(draw) -> tuple[LabelSpace, list[Labelled]]:
    """Labels with any ids and names, and blocks of texts of which one at least has a label."""
    numbers = st.integers(0, 10**6).map(str)
    ids = draw(st.lists(draw(st.sampled_from([numbers, names])), min_size=1, max_size=5, unique=True))
    labels = LabelSpace(arrow_strings(ids), arrow_strings(ids))
    blocks = []
    for least in (1, 0):
        rows = draw(st.integers(1, 3))
        columns = [
            draw(st.lists(st.integers(0, len(ids) - 1), unique=True, min_size=least)) for _ in range(rows)
        ]
        scores = st.floats(0, 1, width=32)
        said = Predictions(
            [[ids[i] for i in row] for row in columns],
            [[ids[i] for i in row] for row in columns],
            [[draw(scores) for _ in row] for row in columns],
        )
        block = TextBlock(
            arrow_strings(draw(st.lists(any_text, min_size=rows, max_size=rows))),
            arrow_strings([f"row {i}" for i in range(rows)]),
        )
        blocks.append(Labelled(block, said))
    return labels, blocks


def one(ids: list[str], row: list[str]) -> tuple[LabelSpace, list[Labelled]]:
    """A text with these labels out of `ids`."""
    labels = LabelSpace(arrow_strings(ids), arrow_strings(ids))
    block = TextBlock(arrow_strings(["x"]), arrow_strings(["row 0"]))
    return labels, [Labelled(block, Predictions([row], [row], [[0.5] * len(row)]))]


@pytest.mark.parametrize("name", ["said.csv", "said.tsv.zst", "said.jsonl", "said.parquet"])
@settings(max_examples=15)
@given(written=labelled())
@example(written=one(["a|b", "c,d", "e"], ["c,d"]))
@example(written=one(["1", "x"], ["1"]))
@example(written=one(["[1]", "<http://x>"], ["[1]", "<http://x>"]))
def test_predictions_are_read_back_as_a_table_and_as_a_corpus(tmp_path_factory, name, written):
    labels, blocks = written
    folder = tmp_path_factory.mktemp("said")
    path = folder / name.replace("said", "train")
    write_predictions(path, iter(blocks), labels)
    texts = [text for block in blocks for text in block.block.texts.to_pylist()]
    with text_source(path) as source:
        found = list(source.blocks())
    assert [text for block in found for text in block.texts.to_pylist()] == texts
    assert [key for block in found for key in block.ids.to_pylist()] == [
        key for block in blocks for key in block.block.ids.to_pylist()
    ]
    corpus = read(folder)
    ids = np.array(corpus.labels.ids.to_pylist(), dtype=object)
    targets = corpus.train.targets
    rows = [set(ids[targets.indices[a:b]]) for a, b in zip(targets.indptr, targets.indptr[1:], strict=False)]
    assert rows == [set(row) for block in blocks for row in block.said.ids]


def test_scores_and_abstentions_are_written_in_every_format(tmp_path):
    labels = LabelSpace(arrow_strings(["7", "2"]), arrow_strings(["shoes", "wool, hats"]))
    said = Predictions(
        [["7", "2"], []], [["shoes", "wool, hats"], []], [[float(np.float32(0.7)), 0.5], []], [False, True]
    )
    block = Labelled(TextBlock(arrow_strings(["red, shoe", ""])), said)
    for name in ("said.csv.gz", "said.parquet", "said.jsonl"):
        write_predictions(tmp_path / name, [block], labels)
    with gzip.open(tmp_path / "said.csv.gz", "rt") as file:
        assert list(csv.reader(io.StringIO(file.read()))) == [
            ["text", "labels", "names", "scores", "abstained"],
            ["red, shoe", "7|2", '["shoes", "wool, hats"]', "0.7|0.5", "false"],
            ["", "", "", "", "true"],
        ]
    assert (tmp_path / "said.jsonl").read_text().splitlines()[0] == (
        '{"text": "red, shoe", "labels": [7, 2], "names": ["shoes", "wool, hats"], '
        '"scores": [0.7, 0.5], "abstained": false}'
    )
    table = pyarrow.parquet.read_table(tmp_path / "said.parquet")
    assert table["labels"].to_pylist() == [[7, 2], []]
    assert table["scores"].to_pylist() == said.scores
    assert table["abstained"].to_pylist() == [False, True]


@pytest.mark.parametrize("name", ["said.csv", "said.jsonl", "said.parquet"])
def test_a_failure_on_the_way_leaves_the_old_file_and_nothing_else(tmp_path, name):
    def blocks():
        yield from one(["a"], ["a"])[1]
        raise InputError("no more")

    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(InputError, match="no more"):
        write_predictions(path, blocks(), LabelSpace(arrow_strings(["a"])))
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert path.read_text() == "old"


def test_a_name_that_tells_no_format_and_an_existing_file_are_refused(tmp_path):
    for name in ("said.txt", "said", "said.parquet.gz", "said.xlsx"):
        with pytest.raises(InputError, match=r"expected one of \.csv, \.tsv, \.jsonl, \.parquet"):
            refuse_table(tmp_path / name, overwrite=True)
    (tmp_path / "said.csv").touch()
    with pytest.raises(InputError, match="exists already, expected a new file, or --overwrite"):
        refuse_table(tmp_path / "said.csv", overwrite=False)
    refuse_table(tmp_path / "said.csv", overwrite=True)
    refuse_table(tmp_path / "said.jsonl.zst", overwrite=False)
