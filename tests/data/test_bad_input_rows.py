"""Bad rows and labels: each is one line with the file, the line, what was found and what was expected."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest
from format_samples import LABELS, ROWS, assert_refused, jsonl, put, rows_folder

GOOD = jsonl(ROWS)

JSON_ROWS = {
    "malformed": ('{"text": "x", "labels": [0}', "malformed JSON at column 27", "one JSON object"),
    "cut short": ('{"text": "x", "lab', "malformed JSON", "one JSON object"),
    "two objects": (
        '{"text": "x", "labels": []} {"text": "y", "labels": []}',
        "Extra data",
        "one JSON object",
    ),
    "no object": ("[1, 2]", "a row is [1, 2]", "an object with text and labels"),
    "null row": ("null", "a row is null", "an object"),
    "text of wrong type": ('{"text": 5, "labels": [0]}', "text is 5", "a string"),
    "labels of wrong type": ('{"text": "x", "labels": 5}', "labels is 5", "a list as in the rows"),
    "label of wrong type": ('{"text": "x", "labels": [1.5]}', "labels is 1.5", "a label id (an integer)"),
    "true for a label": ('{"text": "x", "labels": [true]}', "labels is True", "a label id"),
    "id out of range": ('{"text": "x", "labels": [3]}', "label id 3", "an id in 0..2"),
    "negative id": ('{"text": "x", "labels": [-1]}', "label id -1", "an id in 0..2"),
    "huge id": ('{"text": "x", "labels": [99999999999999999999]}', "label id 99999999999999999999", "0..2"),
    "unknown name": ('{"text": "x", "labels": ["shoos"]}', "unknown label 'shoos'", "did you mean 'shoes'?"),
    "unknown soft name": ('{"text": "x", "labels": {"zzz": 0.5}}', "unknown label 'zzz'", "in labels.jsonl"),
    "unknown own label": ('{"text": "x", "labels": [0], "self": 9}', "label id 9", "an id in 0..2"),
    "unknown excluded label": ('{"text": "x", "labels": [0], "exclude": [9]}', "label id 9", "an id in 0..2"),
    "unknown ignored label": ('{"text": "x", "labels": [0], "ignore": ["q"]}', "unknown label 'q'", "a name"),
    "soft label twice": ('{"text": "x", "labels": {"hats": 1, "hats": 1}}', "label 'hats' twice", "each"),
    "field twice": ('{"text": "x", "labels": [0], "text": "y"}', "the field 'text' twice", "each once"),
    "soft value 0": ('{"text": "x", "labels": {"hats": 0}}', "soft value 0.0 of label 'hats'", "in (0, 1]"),
    "soft value above 1": ('{"text": "x", "labels": [1], "relevance": [1.7]}', "soft value 1.7", "in (0, 1]"),
    "soft value negative": ('{"text": "x", "labels": [1], "relevance": [-1]}', "soft value -1.0", "(0, 1]"),
    "soft value too small": ('{"text": "x", "labels": [1], "relevance": [1e-60]}', "value 1e-60", "(0, 1]"),
    "soft value NaN": ('{"text": "x", "labels": [1], "relevance": [NaN]}', "soft value nan", "in (0, 1]"),
    "soft value a string": (
        '{"text": "x", "labels": [1], "relevance": ["1"]}',
        "relevance is '1'",
        "a number",
    ),
    "relevance too short": (
        '{"text": "x", "labels": [0, 1], "relevance": [1]}',
        "1 relevance values for 2",
        "as",
    ),
    "relevance no list": (
        '{"text": "x", "labels": [1], "relevance": 1}',
        "relevance is 1",
        "a list of numbers",
    ),
    "relevance and soft": (
        '{"text": "x", "labels": {"hats": 1}, "relevance": [1]}',
        "also relevance",
        "one of",
    ),
    "weight NaN": ('{"text": "x", "labels": [], "weight": NaN}', "weight nan", "a number >= 0"),
    "weight infinite": ('{"text": "x", "labels": [], "weight": 1e39}', "weight 1e+39", "a number >= 0"),
    "weight negative": ('{"text": "x", "labels": [], "weight": -0.5}', "weight -0.5", "a number >= 0"),
    "weight a string": ('{"text": "x", "labels": [], "weight": "1"}', "weight is '1'", "a number"),
    "origin without row": (
        '{"text": "x", "labels": [], "origin": {"method": "eda"}}',
        "origin is",
        "an integer",
    ),
    "half a surrogate pair": (r'{"text": "\ud800", "labels": []}', "text is", "valid Unicode"),
    "a string after lists": ('{"text": "x", "labels": "hats"}', "labels is 'hats'", "a list as in the rows"),
    "nested too deeply": ('{"text": "x", "labels": ' + "[" * 100_000, "JSON that cannot be read", ""),
}


@pytest.mark.parametrize("case", JSON_ROWS)
def test_a_bad_row_is_refused_with_its_line(tmp_path, case):
    row, found, expected = JSON_ROWS[case]
    file = rows_folder(tmp_path, GOOD + row + "\n" + GOOD, LABELS)
    assert_refused(tmp_path, file, 3, found, expected)


@pytest.mark.parametrize("case", JSON_ROWS)
def test_a_bad_row_is_refused_with_its_line_after_blank_lines(tmp_path, case):
    row, found, expected = JSON_ROWS[case]
    file = rows_folder(tmp_path, GOOD + "\n\n" + row + "\n", LABELS)
    assert_refused(tmp_path, file, 5, found, expected)


def test_a_bad_row_far_down_a_compressed_file_is_refused_with_its_line(tmp_path):
    put(tmp_path / "labels.jsonl", jsonl(LABELS))
    file = put(tmp_path / "train.jsonl.gz", GOOD * 40_000 + '{"text": "x", "labels": [3]}\n')
    assert_refused(tmp_path, file, 80_001, "label id 3", "an id in 0..2")


def test_a_negative_id_without_a_labels_file_is_refused(tmp_path):
    file = rows_folder(tmp_path, GOOD + '{"text": "x", "labels": [-1]}\n')
    assert_refused(tmp_path, file, 3, "label id -1", "an id >= 0")


def test_a_name_that_two_labels_share_is_refused_where_a_row_refers_to_it(tmp_path):
    file = rows_folder(tmp_path, '{"text": "x", "labels": ["hats"]}\n', [*LABELS, {"id": 3, "text": "hats"}])
    assert_refused(tmp_path, file, 1, "label name 'hats', which two labels share", "a name of one label")


CSV_ROWS = {
    "too few cells": ("text,labels\na,x\nb\n", 3, "1 cells", "2 as in the header"),
    "too many cells": ("text,labels\na,x\nb,x,y\n", 3, "3 cells", "2 as in the header"),
    "open quote": ('text,labels\na,x\n"b,x\n', 3, "a wrongly quoted cell", "closed"),
    "text after a quote": ('text,labels\n"a\nb",x\n"b"c,x\n', 4, "a wrongly quoted cell", "doubled"),
    "missing column": ("text,price\na,x\n", 1, "the columns text, price", "its labels (labels, tags"),
    "column twice": ("text,labels,text\na,x,b\n", 1, "the column 'text' twice", "each once"),
    "bad JSON cell": ('text,labels\na,"[1, 2"\n', 2, "malformed JSON", ""),
    "wrong JSON cell": ('text,labels\na,"[1.5]"\n', 2, "labels is 1.5", "a label id"),
    "bad weight": ("text,labels,weight\na,x,\nb,x,heavy\n", 3, "weight is 'heavy'", "a number"),
    "weight NaN": ("text,labels,weight\na,x,1\nb,x,nan\n", 3, "weight nan", "a number >= 0"),
    "bad relevance": ("text,labels,relevance\na,x,much\n", 2, "relevance is 'much'", "a number"),
    "relevance too long": (
        "text,labels,relevance\na,x,1|1\n",
        2,
        "2 relevance values for 1 labels",
        "as many",
    ),
    "soft value 2": ("text,labels,relevance\na,x,1\nb,x,2\n", 3, "soft value 2.0 of label 'x'", "in (0, 1]"),
    "bad origin": (
        "text,labels,origin_row,origin_method\na,x,1.5,\n",
        2,
        "origin_row is '1.5'",
        "an integer",
    ),
    "no rows": ("text,labels\n", 1, "a header without rows", "at least one row"),
}


@pytest.mark.parametrize("case", CSV_ROWS)
def test_a_bad_csv_row_is_refused_with_its_line(tmp_path, case):
    content, line, found, expected = CSV_ROWS[case]
    file = put(tmp_path / "train.csv", content)
    assert_refused(tmp_path, file, line, found, expected)


def test_soft_cells_and_relevance_together_are_refused(tmp_path):
    file = put(tmp_path / "train.csv", 'text,labels,relevance\na,"{""x"": 0.5}",1\n')
    assert_refused(
        tmp_path, file, None, "labels with values of their own, and also relevance", "one of the two"
    )


LABEL_FILES = {
    "id twice": (
        '{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}\n',
        2,
        "label id '1' a second time",
        "each id",
    ),
    "null id": ('{"id": 0, "text": "a"}\n{"id": null, "text": "b"}\n', 2, "id is null", "a label id"),
    "missing id": ('{"id": 0, "text": "a"}\n{"text": "b"}\n', 2, "id is null", "a label id"),
    "text of wrong type": ('{"id": 0, "text": "a"}\n{"id": 1, "text": 5}\n', 2, "text is 5", "a string"),
    "no text": ('{"id": 0, "gnd": "a"}\n', 1, "the fields id, gnd", "the text or the name of each label"),
    "no object": ('"a"\n', 1, "a label is 'a'", "an object with id and text"),
    "weight 0": (
        '{"text": "a", "made_weight": 0.5}\n{"text": "b", "made_weight": 0.0}\n',
        2,
        "made_weight is 0.0",
        "a number > 0",
    ),
    "weight of wrong type": ('{"text": "a", "made_weight": "1"}\n', 1, "made_weight is '1'", "a number"),
    "missing weight": (
        '{"text": "a", "made_weight": 0.5}\n{"text": "b"}\n',
        2,
        "made_weight is null",
        "a number",
    ),
    "malformed": ('{"id": 0, "text": "a"}\n{"id": 1\n', 2, "malformed JSON", "one JSON object"),
}


@pytest.mark.parametrize("case", LABEL_FILES)
def test_a_bad_labels_file_is_refused_with_its_line(tmp_path, case):
    content, line, found, expected = LABEL_FILES[case]
    rows_folder(tmp_path, GOOD)
    file = put(tmp_path / "labels.jsonl", content)
    assert_refused(tmp_path, file, line, found, expected)


@pytest.mark.parametrize("cell", ["", "heavy", "-1", "nan", "inf"])
def test_a_bad_weight_in_a_labels_table_is_refused_with_its_line(tmp_path, cell):
    rows_folder(tmp_path, GOOD)
    file = put(tmp_path / "labels.csv", f"text,made_weight\na,0.5\nb,{cell}\n")
    assert_refused(tmp_path, file, 3, f"made_weight is {cell!r}", "a number > 0")


PARQUET = {
    "missing column": ({"text": ["a"], "price": [1]}, None, "the columns text, price", "a text (text,"),
    "wrong type": ({"text": ["a"], "labels": [[0.5]]}, 1, "labels is 0.5", "a label id"),
    "weight NaN": ({"text": ["a"], "labels": [[0]], "weight": [float("nan")]}, 1, "weight nan", ">= 0"),
    "no rows": ({"text": [], "labels": []}, None, "no rows", "at least one row"),
}


@pytest.mark.parametrize("case", PARQUET)
def test_a_bad_parquet_row_is_refused_with_its_number(tmp_path, case):
    columns, line, found, expected = PARQUET[case]
    file = tmp_path / "train.parquet"
    pyarrow.parquet.write_table(pa.table(columns), file)
    assert_refused(tmp_path, file, line, found, expected)


@pytest.mark.parametrize("content", [b"no parquet at all", b"PAR1 cut off"])
def test_a_file_that_is_no_parquet_is_refused(tmp_path, content):
    file = put(tmp_path / "train.parquet", content)
    assert_refused(tmp_path, file, None, "no Parquet data", "a Parquet file")
