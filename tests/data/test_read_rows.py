"""Folders and single files of rows: jsonl, csv, tsv, parquet; ids and names; the optional fields."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from format_samples import LABELS, ROWS, jsonl, label_lists, put, rows_folder

from tailwright.data.read import read


def names(corpus):
    return corpus.labels.names.to_pylist()


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".jsonl.gz", ".jsonl.zst"])
def test_a_folder_of_json_lines_is_read_whatever_its_suffix(tmp_path, suffix):
    put(tmp_path / f"train{suffix}", jsonl(ROWS))
    put(tmp_path / f"test{suffix}", jsonl(ROWS[:1]))
    put(tmp_path / f"labels{suffix}", jsonl(LABELS))
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["a red hat", "boots"]
    assert label_lists(corpus.train) == [[0, 2], [1]]
    assert len(corpus.test) == 1
    assert corpus.valid is None
    assert names(corpus) == ["hats", "shoes", "red things"]
    assert corpus.labels.counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".tsv.zst"])
def test_a_folder_of_csv_or_tsv_is_read_whatever_its_suffix(tmp_path, suffix):
    mark = "\t" if ".tsv" in suffix else ","
    put(tmp_path / f"train{suffix}", f"text{mark}labels\na red hat{mark}0 2\nboots{mark}1\n")
    put(tmp_path / f"labels{suffix}", f"id{mark}text\n0{mark}hats\n1{mark}shoes\n2{mark}red things\n")
    corpus = read(tmp_path)
    assert label_lists(corpus.train) == [[0, 2], [1]]
    assert names(corpus) == ["hats", "shoes", "red things"]


def test_a_folder_of_parquet_is_read(tmp_path):
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "train.parquet")
    pyarrow.parquet.write_table(pa.Table.from_pylist(LABELS), tmp_path / "labels.parquet")
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["a red hat", "boots"]
    assert label_lists(corpus.train) == [[0, 2], [1]]


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([["hats", "shoes"], []], pa.list_(pa.string())),
        pa.array([["hats", "shoes"], []], pa.large_list(pa.dictionary(pa.int32(), pa.string()))),
        pa.array(["hats|shoes", ""]),
        pa.array(["hats|shoes", ""]).dictionary_encode(),
        pa.array([[("hats", 1.0), ("shoes", 1.0)], []], pa.map_(pa.string(), pa.float64())),
    ],
    ids=["lists", "dictionaries", "cells", "cell dictionary", "maps"],
)
def test_parquet_labels_may_be_of_many_types(tmp_path, labels):
    table = pa.table({"text": pa.array(["a", "b"]).dictionary_encode(), "labels": labels})
    pyarrow.parquet.write_table(table, tmp_path / "train.parquet")
    corpus = read(tmp_path)
    assert names(corpus) == ["hats", "shoes"]
    assert label_lists(corpus.train) == [[0, 1], []]


@pytest.mark.parametrize("name", ["valid", "dev"])
def test_validation_rows_may_be_called_valid_or_dev(tmp_path, name):
    put(tmp_path / "train.jsonl", jsonl(ROWS))
    put(tmp_path / f"{name}.jsonl", jsonl(ROWS[1:]))
    assert read(tmp_path).valid.texts.to_pylist() == ["boots"]


def test_splits_may_be_in_different_formats(tmp_path):
    put(tmp_path / "train.jsonl", jsonl(ROWS))
    put(tmp_path / "test.csv", "text,labels\nboots,1\n")
    put(tmp_path / "labels.txt", "hats\nshoes\nred things\n")
    corpus = read(tmp_path)
    assert label_lists(corpus.test) == [[1]]
    assert names(corpus) == ["hats", "shoes", "red things"]


def test_other_files_in_the_folder_are_no_problem(tmp_path):
    rows_folder(tmp_path, jsonl(ROWS), LABELS)
    for name in ("README.md", "stats.json", "train.jsonl~", ".DS_Store", "notes.txt"):
        put(tmp_path / name, "anything")
    assert len(read(tmp_path).train) == 2


def test_labels_may_have_more_fields_and_names_of_their_own(tmp_path):
    more = [{"id": f"g{i}", "text": f"text {i}", "name": f"name {i}", "gnd": i} for i in range(2)]
    rows_folder(tmp_path, jsonl([{"text": "a", "labels": ["name 1", "g0"]}]), more)
    corpus = read(tmp_path)
    assert corpus.labels.ids.to_pylist() == ["g0", "g1"]
    assert names(corpus) == ["name 0", "name 1"]
    assert corpus.labels.texts.to_pylist() == ["text 0", "text 1"]
    assert label_lists(corpus.train) == [[0, 1]]


def test_integer_ids_need_not_be_positions(tmp_path):
    rows_folder(
        tmp_path, jsonl([{"text": "a", "labels": [70, 7]}]), [{"id": 7, "text": "x"}, {"id": 70, "text": "y"}]
    )
    assert label_lists(read(tmp_path).train) == [[0, 1]]


def test_without_an_id_the_position_is_the_id(tmp_path):
    rows_folder(tmp_path, jsonl([{"text": "a", "labels": [1]}]), [{"text": "x"}, {"text": "y"}])
    corpus = read(tmp_path)
    assert corpus.labels.ids.to_pylist() == ["0", "1"]
    assert label_lists(corpus.train) == [[1]]


def test_a_label_without_text_is_named_by_its_id(tmp_path):
    rows_folder(tmp_path, jsonl(ROWS[1:]), [{"id": 0, "text": ""}, {"id": 1, "text": None}])
    corpus = read(tmp_path)
    assert names(corpus) == ["0", "1"]
    assert corpus.labels.texts.to_pylist() == ["", ""]


def test_an_integer_is_an_id_and_a_string_is_a_name_first(tmp_path):
    swapped = [{"id": 0, "text": "1"}, {"id": 1, "text": "0"}]
    rows_folder(tmp_path, jsonl([{"text": "a", "labels": [0]}, {"text": "b", "labels": ["0"]}]), swapped)
    assert label_lists(read(tmp_path).train) == [[0], [1]]


def test_a_shared_name_is_fine_while_no_row_refers_to_it(tmp_path):
    shared = [{"id": 0, "text": "same"}, {"id": 1, "text": "same"}, {"id": 2, "text": "other"}]
    rows_folder(tmp_path, jsonl([{"text": "a", "labels": ["other"]}, {"text": "b", "labels": [1]}]), shared)
    assert label_lists(read(tmp_path).train) == [[2], [1]]


def test_without_a_labels_file_integers_are_sorted_as_numbers_and_have_no_text(tmp_path):
    put(tmp_path / "train.jsonl", jsonl([{"text": "a", "labels": [10, 9]}]))
    put(tmp_path / "test.jsonl", jsonl([{"text": "b", "labels": [2]}]))
    labels = read(tmp_path).labels
    assert labels.ids.to_pylist() == ["2", "9", "10"]
    assert labels.texts.to_pylist() == ["", "", ""]
    assert labels.counts.tolist() == [0, 1, 1]


def test_without_a_labels_file_names_are_sorted_and_are_their_texts(tmp_path):
    put(tmp_path / "train.jsonl", jsonl([{"text": "a", "labels": ["b", "a"], "self": "c"}]))
    labels = read(tmp_path).labels
    assert labels.ids.to_pylist() == labels.names.to_pylist() == labels.texts.to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "row",
    [
        {"text": "a", "labels": {"hats": 0.4, "shoes": 1}},
        {"text": "a", "labels": [0, 1], "relevance": [0.4, 1]},
        {"text": "a", "labels": "hats|shoes", "relevance": [0.4, 1]},
    ],
    ids=["object", "parallel list", "cell"],
)
def test_soft_values_are_kept(tmp_path, row):
    rows_folder(tmp_path, jsonl([row]), LABELS)
    assert read(tmp_path).train.targets.toarray().tolist() == [[np.float32(0.4), 1.0, 0.0]]


def test_every_optional_field_is_read(tmp_path):
    row = {
        "text": "a",
        "labels": [0],
        "weight": 0.5,
        "self": 1,
        "exclude": ["red things", 1],
        "ignore": [2],
        "origin": {"row": 7, "method": "eda"},
    }
    rows_folder(tmp_path, jsonl([row, {"text": "b", "labels": [1], "self": None}]), LABELS)
    train = read(tmp_path).train
    assert train.weights.tolist() == [0.5, 1.0]
    assert train.excluded.toarray().tolist() == [[0, 1, 1], [0, 0, 0]]
    assert train.ignored.toarray().tolist() == [[0, 0, 1], [0, 0, 0]]
    assert train.origin.rows.tolist() == [7, 1]
    assert train.origin.names() == ["eda", ""]


def test_a_csv_has_the_same_fields(tmp_path):
    content = (
        "text,labels,relevance,weight,self,exclude,ignore,origin_row,origin_method\n"
        '"a, ""b""",hats|shoes,0.4|1,0.5,red things,hats,,7,eda\n'
        "b,shoes,,,,,red things|hats,1,\n"
    )
    put(tmp_path / "train.csv", content)
    put(tmp_path / "labels.jsonl", jsonl(LABELS))
    train = read(tmp_path).train
    assert train.texts.to_pylist() == ['a, "b"', "b"]
    assert train.targets.toarray().tolist() == [[np.float32(0.4), 1.0, 0.0], [0.0, 1.0, 0.0]]
    assert train.weights.tolist() == [0.5, 1.0]
    assert train.excluded.toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    assert train.ignored.toarray().tolist() == [[0, 0, 0], [1, 0, 1]]
    assert train.origin.names() == ["eda", ""]


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["hats|red, things", "x;y"], [["hats", "red, things"], ["x;y"]]),
        (["hats; shoes", "a b"], [["hats", "shoes"], ["a b"]]),
        (["hats, shoes,", " coats "], [["hats", "shoes"], ["coats"]]),
        (["red hats", "shoes"], [["red hats"], ["shoes"]]),
        (["3 1", "2"], [["1", "3"], ["2"]]),
        (["007 1", "2"], [["007 1"], ["2"]]),
        (['["a|b", "c"]', ""], [["a|b", "c"], []]),
        (['{"a": 0.5}', "b|c"], [["a"], ["b", "c"]]),
    ],
)
def test_the_delimiter_of_a_column_is_found(tmp_path, cells, found):
    put(tmp_path / "train.tsv", "text\tlabels\n" + "".join(f"t\t{cell}\n" for cell in cells))
    corpus = read(tmp_path)
    ids = corpus.labels.ids.to_pylist()
    assert [[ids[label] for label in row] for row in label_lists(corpus.train)] == found


def test_the_delimiter_is_the_same_in_all_splits(tmp_path):
    put(tmp_path / "train.csv", 'text,labels\na,"Cakes, sweet|Bread"\n')
    put(tmp_path / "test.csv", 'text,labels\nb,"Cakes, sweet"\n')
    assert names(read(tmp_path)) == ["Bread", "Cakes, sweet"]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_csv_may_have_another_separator(tmp_path, mark):
    put(tmp_path / "train.csv", f"labels{mark}text\nx|y{mark}a, b\n")
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["a, b"]
    assert names(corpus) == ["x", "y"]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
@pytest.mark.parametrize(
    ("fields", "text"), [(["title"], "t"), (["content"], "c"), (["title", "content"], "t c")]
)
def test_title_and_content_stand_in_for_text(tmp_path, suffix, fields, text):
    row = {name: name[0] for name in fields}
    cells = ",".join([*row.values(), "x"])
    content = (
        jsonl([{**row, "labels": ["x"]}])
        if suffix == ".jsonl"
        else f"{','.join([*fields, 'labels'])}\n{cells}\n"
    )
    put(tmp_path / f"train{suffix}", content)
    assert read(tmp_path).train.texts.to_pylist() == [text]


def test_title_and_content_are_joined_only_where_both_have_words(tmp_path):
    rows = [{"title": "t", "content": "", "labels": []}, {"title": "", "content": "c", "labels": []}]
    rows += [{"title": "t", "content": None, "labels": []}, {"title": "t", "labels": []}]
    put(tmp_path / "train.jsonl", jsonl(rows))
    assert read(tmp_path).train.texts.to_pylist() == ["t", "c", "t", "t"]


def test_a_byte_order_mark_and_crlf_are_fine(tmp_path):
    put(tmp_path / "train.jsonl", ("\ufeff" + jsonl(ROWS)).replace("\n", "\r\n"))
    put(tmp_path / "test.csv", "\ufefftext,labels\r\nboots,1\r\n")
    put(tmp_path / "labels.txt", "\ufeffhats\r\nshoes\r\nred things\r\n")
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["a red hat", "boots"]
    assert label_lists(corpus.test) == [[1]]
    assert names(corpus) == ["hats", "shoes", "red things"]


def test_rows_that_are_merely_odd_are_kept(tmp_path):
    odd = [{"text": "", "labels": []}, {"text": "a", "labels": []}, {"text": "a", "labels": []}]
    put(tmp_path / "train.jsonl", jsonl(odd).replace("}\n", "}\n\n"))
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["", "a", "a"]
    assert len(corpus.labels) == 0


def test_a_text_longer_than_a_block_is_read(tmp_path):
    text = "word " * 500_000
    rows_folder(tmp_path, jsonl([{"text": text, "labels": [0]}, {"text": "short", "labels": [0]}]))
    assert read(tmp_path).train.texts.to_pylist() == [text, "short"]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv.gz", "rows.parquet", "rows.txt"])
def test_a_single_file_is_split_by_seed_four_to_one(tmp_path, name):
    path = tmp_path / name
    if name.endswith(".parquet"):
        rows = [{"text": str(i), "labels": ["x"]} for i in range(100)]
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif name.endswith(".txt"):
        put(path, "".join(f"__label__x {i}\n" for i in range(100)))
    elif name.endswith(".gz"):
        put(path, "text,labels\n" + "".join(f"{i},x\n" for i in range(100)))
    else:
        put(path, jsonl([{"text": str(i), "labels": ["x"]} for i in range(100)]))
    corpus = read(path)
    assert (len(corpus.train), len(corpus.test)) == (80, 20)
    together = corpus.train.texts.to_pylist() + corpus.test.texts.to_pylist()
    assert sorted(together, key=int) == [str(i) for i in range(100)]
    assert read(path).same_as(corpus)
    assert not read(path, seed=1).same_as(corpus)


def test_a_single_row_is_for_training(tmp_path):
    corpus = read(put(tmp_path / "one.jsonl", jsonl(ROWS[:1])))
    assert len(corpus.train) == 1
    assert corpus.test is None
