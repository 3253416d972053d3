"""Rows in memory become the corpus that the same rows in a file become; a mistake names its row."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from format_samples import put
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import tailwright as tw
from tailwright.errors import InputError

TEXTS = ["red shoes", "wool hat", "straw hat"]
LISTS = [["shoes"], ["hats", "winter"], ["hats"]]
SOFT = [{"shoes": 0.5}, {"hats": 1.0, "winter": 0.25}, {"hats": 0.75}]
FRAME = pd.DataFrame({"title": TEXTS, "tags": LISTS, "sku": ["a", "b", "c"], "price": [1, 2, 3]})


class Streamed:
    """A table of another library, which gives itself to Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.columns = table, table.column_names

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class StreamedColumn:
    """A column of another library: its rows are columns again, and Arrow can take it."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self):
        return map(StreamedColumn, self.column)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.column.__arrow_c_stream__(requested_schema)


class Features(dict):
    def to_dict(self) -> dict:
        return dict(self)


class HubDataset:
    """What `datasets.Dataset` has of what is asked of it: rows in an order of their own."""

    def __init__(self, table: pa.Table, order: list[int], features: dict | None = None) -> None:
        self.table, self.order = table, order
        self.column_names, self.features = table.column_names, Features(features or {})

    def with_format(self, kind: str) -> HubDataset:
        assert kind == "arrow"
        return self

    def __getitem__(self, rows: slice) -> pa.Table:
        return self.table.take(self.order[rows])


def from_file(folder, rows) -> tw.Corpus:
    put(folder / "train.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return tw.read(folder)


def told(*data: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        tw.read(*data, **options)
    return str(caught.value)


@pytest.mark.parametrize("labels", [LISTS, SOFT], ids=["lists", "soft"])
def test_every_way_to_hold_rows_gives_the_corpus_of_the_same_rows_in_a_file(tmp_path, labels):
    expected = from_file(
        tmp_path, [{"text": text, "labels": row} for text, row in zip(TEXTS, labels, strict=True)]
    )
    names = expected.labels.names.to_pylist()
    matrix = expected.train.targets
    held = {
        "lists": (TEXTS, labels),
        "pair": ((TEXTS, labels),),
        "arrays": (np.array(TEXTS), np.array(labels, dtype=object)),
        "series": (pd.Series(TEXTS), pd.Series(labels)),
        "frame": (pd.DataFrame({"text": TEXTS, "labels": labels}),),
        "by split": ({"train": pd.DataFrame({"text": TEXTS, "labels": labels})},),
    }
    for way, data in held.items():
        assert tw.read(*data).same_as(expected), way
    for way, given_matrix in {"sparse": sparse.csc_matrix(matrix), "dense": matrix.toarray()}.items():
        assert tw.read(TEXTS, given_matrix, label_names=names).same_as(expected), way


def test_tables_of_arrow_and_of_other_libraries_are_read_as_a_frame_is():
    table = pa.table({"title": TEXTS, "tags": LISTS, "sku": ["a", "b", "c"], "price": [1, 2, 3]})
    views = table.set_column(0, "title", pa.array(TEXTS, pa.string_view()))
    expected = tw.read(FRAME, text="title", labels="tags", id="sku")
    assert expected.notes == ("text = title; labels = tags, lists; id = sku; ignored: price",)
    assert expected.train.ids.to_pylist() == ["a", "b", "c"]
    for data in (table, Streamed(table), Streamed(views), HubDataset(table, [0, 1, 2])):
        corpus = tw.read(data, text="title", labels="tags", id="sku")
        assert corpus.same_as(expected)
        assert corpus.notes == expected.notes
    columns = StreamedColumn(views["title"]), StreamedColumn(table["tags"])
    for texts, labels in (columns, (views["title"], table["tags"])):
        assert tw.read(texts, labels).same_as(tw.read(TEXTS, LISTS))


def test_a_dataset_of_the_hub_keeps_its_order_splits_and_class_names():
    table = pa.table({"text": TEXTS, "label": [1, 0, 0]})
    features = {"label": {"_type": "ClassLabel", "names": ["hats", "shoes"]}}
    splits = {"train": HubDataset(table, [2, 0], features), "validation": HubDataset(table, [1], features)}
    corpus = tw.read(splits)
    assert corpus.train.texts.to_pylist() == ["straw hat", "red shoes"]
    assert corpus.labels.names.to_pylist() == ["hats", "shoes"]
    assert corpus.train.targets.toarray().tolist() == [[1, 0], [0, 1]]
    assert (len(corpus.valid), corpus.test) == (1, None)


def test_rows_in_memory_are_all_training_rows_and_those_of_one_file_are_split(tmp_path):
    corpus = tw.read(TEXTS * 4, LISTS * 4)
    assert (list(corpus.splits()), len(corpus.train)) == (["train"], 12)
    rows = [json.dumps({"text": text, "labels": row}) for text, row in zip(TEXTS, LISTS, strict=True)] * 4
    path = put(tmp_path / "rows.jsonl", "\n".join(rows))
    assert [len(split) for split in tw.read(path).splits().values()] == [9, 3]


def test_a_string_beside_a_text_is_one_label_unless_a_separator_is_given():
    whole = tw.read(TEXTS, ["shoes, red", "hats", "hats"])
    assert whole.labels.names.to_pylist() == ["hats", "shoes, red"]
    assert whole.notes == ("text = text; labels = labels, one label a cell",)
    assert len(tw.read(TEXTS, ["shoes, red", "hats", "hats"], separator=",").labels) == 3
    assert tw.read(TEXTS, np.array([7, 7, 10])).labels.ids.to_pylist() == ["7", "10"]


def test_odd_rows_are_mended_with_a_note_or_refused():
    data = (["red shoes", None], [["shoes", "shoes"], ["hats "]])
    assert tw.read(*data).notes == (
        "odd rows, mended or kept: null instead of a text (1), an empty text (1), "
        "a label twice in a row (1), blanks around a label (1)",
    )
    assert told(*data, strict=True).startswith("row 0: a label twice in a row")


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        ([["a"], ["b"], [1.5]], "row 2: labels is 1.5, expected a label id"),
        ([["a"], "b", ["c"]], "row 1: labels is 'b', expected a list as in the rows before"),
        ([{"a": 1}, {"b": 1.5}, {}], "row 1: soft value 1.5 of label 'b', expected a number in (0, 1]"),
        ([["a"], [True], []], "row 1: labels is True, expected a label id"),
        ([["a"]], "found 3 texts and labels of 1 rows, expected as many of both"),
        (np.array([[0, 1], [1, 0], [2, 0]]), "row 2: soft value 2.0 of label 0, expected a number in (0, 1]"),
        (np.array([["a"], ["b"], ["c"]]), "found a matrix of labels of type <U1, expected numbers in [0, 1]"),
        (7, "found 7 (int) for labels, expected a list of labels"),
    ],
)
def test_wrong_labels_are_one_line_that_names_the_row(labels, line):
    assert told(TEXTS, labels).startswith(line)


def test_wrong_data_are_one_line():
    assert told(["a", 3], LISTS[:2]) == "row 1: text is 3, expected a string"
    odd = pd.DataFrame({"text": ["a", 3], "labels": ["x", "y"]})
    assert told({"train": FRAME, "test": odd}) == "test, row 1: text is 3, expected a string"
    assert told(FRAME, labels="tgs").startswith("no column 'tgs', expected one of title, tags")
    assert told(FRAME, LISTS).startswith("found a table, and labels of its rows")
    assert told(TEXTS).startswith("found a list without labels, expected texts and their labels")
    assert told([], []) == "no rows, expected at least one row"
    assert told("shop.csv", LISTS).startswith("found the path 'shop.csv' and labels of rows")
    assert told((TEXTS, LISTS), LISTS).startswith("found a pair of texts and labels, and also labels=")
    assert told({"train": FRAME, "exam": FRAME}).startswith("the split 'exam', expected one of train")
    assert told({"test": FRAME}) == "found test, expected train among the splits"
    assert told(np.array([TEXTS]), LISTS) == "found texts of shape (1, 3), expected a list of texts"
    twice = pd.DataFrame([["a", "b", "c"]], columns=["text", "text", "labels"])
    assert told(twice) == "the columns text, text, labels, expected each name once"


def test_a_corpus_is_given_back_and_takes_no_arguments():
    corpus = tw.read(TEXTS, LISTS)
    assert tw.read(corpus) is corpus
    for argument in ({"text": "title"}, {"labels": "tags"}, {"label_texts": {"hats": "caps"}}):
        assert told(corpus, **argument).startswith("found a corpus, and arguments that say how to read one")


def test_label_texts_are_a_vocabulary_to_which_labels_of_rows_are_added():
    corpus = tw.read(TEXTS, LISTS, label_texts={"shoes": "shoes and boots", "bags": "all bags"})
    assert corpus.labels.names.to_pylist() == ["shoes", "bags", "hats", "winter"]
    assert corpus.labels.texts.to_pylist() == ["shoes and boots", "all bags", "hats", "winter"]
    assert corpus.notes == ("added 2 labels that label_texts does not have: hats, winter",)
    numbered = tw.read(TEXTS, [[7], [8], []], label_texts={7: "shoes"})
    assert numbered.labels.ids.to_pylist() == ["7", "8"]
    assert numbered.labels.names.to_pylist() == ["shoes", "8"]
    refused = told(TEXTS, LISTS, label_texts={"shoes": "boots"}, strict=True)
    assert refused.startswith("row 1: unknown label 'hats', expected a name or an id in the labels")


def test_label_texts_go_with_a_file_too_but_not_with_labels_that_lie_beside_it(tmp_path):
    put(tmp_path / "train.csv", "text,labels\nred shoes,shoes\nwool hat,hats\n")
    corpus = tw.read(tmp_path, label_texts={"shoes": "boots", "hats": "caps"})
    assert corpus.labels.texts.to_pylist() == ["boots", "caps"]
    assert corpus.source == ""  # the path alone would not give the same corpus again
    put(tmp_path / "labels.csv", "name\nshoes\nhats\n")
    refused = told(tmp_path, label_texts={"shoes": "boots"})
    assert refused == f"{tmp_path}: labels.csv and label_names or label_texts, expected one of them"
    put(tmp_path / "xc" / "trn_X_Y.txt", "1 1\n0:1\n")
    assert "expected neither, as the folder has labels" in told(tmp_path / "xc", label_names=["a"])


def test_label_names_are_all_labels_in_order():
    corpus = tw.read(TEXTS, LISTS, label_names=["winter", "bags", "shoes", "hats"], label_texts={"bags": "b"})
    assert corpus.labels.counts.tolist() == [1, 0, 1, 2]
    assert corpus.labels.texts.to_pylist() == ["winter", "b", "shoes", "hats"]
    assert tw.read(TEXTS, [[2], [3, 0], [3]], label_names=["w", "b", "s", "h"]).labels.counts.tolist() == [
        *(1, 0, 1, 2)
    ]
    line = "found 2 label_names for a matrix of 3 labels, expected as many"
    assert told(TEXTS, np.eye(3), label_names=["a", "b"]) == line
    beside = "--vocabulary and a matrix of labels, expected one of them"
    assert told(TEXTS, np.eye(3), vocabulary="labels.csv") == beside
    assert told(TEXTS, np.eye(3), id="sku") == "no column 'sku', expected one of text, labels"
    assert told(TEXTS, LISTS, label_names=["a", "a"]) == "label_names has 'a' twice, expected each name once"
    assert told(TEXTS, np.eye(3), label_texts={3: "x"}).startswith("label_texts has label id 3")
    assert told(TEXTS, LISTS, label_texts={"a": 1}).startswith("label_texts of 'a' is 1, expected a string")


def test_a_matrix_without_names_has_numbered_labels_and_stays_as_it_is():
    matrix = sparse.csr_array(([1.0, 0.0, 0.5], ([0, 1, 2], [2, 1, 2])), shape=(3, 4))
    corpus = tw.read(TEXTS, matrix)
    assert corpus.labels.ids.to_pylist() == ["0", "1", "2", "3"]
    assert not corpus.labels.has_text.any()
    assert (matrix.nnz, corpus.train.targets.nnz) == (3, 2)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.text("ab ", max_size=4), st.dictionaries(st.sampled_from("xyz"), st.floats(0.01, 1))),
        min_size=1,
        max_size=6,
    )
)
def test_rows_with_soft_labels_keep_every_value(rows):
    corpus = tw.read([text for text, _ in rows], [labels for _, labels in rows])
    assert corpus.train.texts.to_pylist() == [text for text, _ in rows]
    names = corpus.labels.names.to_pylist()
    for row, (_, labels) in enumerate(rows):
        kept = {names[i]: value for i, value in enumerate(corpus.train.targets[[row]].toarray()[0]) if value}
        assert kept == {name: np.float32(value) for name, value in labels.items()}
