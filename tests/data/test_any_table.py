"""Columns by flag and by name, what is said about them, encodings, and odd rows, mended or refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet
import pytest
from format_samples import assert_refused, jsonl, label_lists, put, refusal, rows_folder

from tailwright.data.formats.options import ReadOptions
from tailwright.data.read import read
from tailwright.errors import InputError

SHOP = "sku,Title,description,price,tags\nA1,hat,warm,3,wool|winter\nA2,shoe,,4,wool\n"


def label_names(corpus, split="train"):
    names = corpus.labels.names.to_pylist()
    return [[names[label] for label in row] for row in label_lists(corpus.splits()[split])]


def train_only(folder, content, name="train.csv", **options):
    put(folder / name, content)
    return read(folder, **options)


def test_one_line_says_what_was_taken_and_what_was_left(tmp_path):
    corpus = train_only(tmp_path, SHOP)
    assert corpus.train.texts.to_pylist() == ["hat warm", "shoe"]
    said = "text = Title + description; labels = tags, split at '|'; ignored: sku, price"
    assert corpus.notes == (said,)


def test_flags_name_the_columns(tmp_path):
    corpus = train_only(tmp_path, SHOP, text="description,title", labels="tags", id="sku", weight="price")
    assert corpus.train.texts.to_pylist() == ["warm hat", "shoe"]
    assert corpus.train.ids.to_pylist() == ["A1", "A2"]
    assert corpus.train.weights.tolist() == [3, 4]
    said = "text = description + Title; labels = tags, split at '|'; id = sku; weight = price"
    assert corpus.notes == (said,)


def test_options_may_stand_behind_the_path_and_the_source_has_them(tmp_path):
    put(tmp_path / "shop.csv", SHOP)
    corpus = read(f"{tmp_path / 'shop.csv'}?text=title&id=sku")
    again = read(corpus.source)
    assert again.same_as(corpus)
    assert again.train.ids is not None
    assert corpus.source.endswith("shop.csv?text=title&id=sku")


def test_a_source_says_which_seed_drew_the_test_rows(tmp_path):
    path = put(tmp_path / "rows.csv", "text,labels\n" + "".join(f"{i},x\n" for i in range(50)))
    corpus = read(path, seed=3)
    assert read(corpus.source).same_as(corpus)
    assert not read(path).same_as(corpus)


def test_a_source_says_which_share_is_kept_for_testing(tmp_path):
    path = put(tmp_path / "rows.csv", "text,labels\n" + "".join(f"{i},x\n" for i in range(10)))
    whole, half = read(path, test_share=0), read(path, test_share=0.5)
    assert (len(whole.train), whole.test, whole.notes) == (10, None, ())
    assert (len(half.train), len(half.test)) == (5, 5)
    assert half.notes[0].startswith("no test rows: 50 % of the rows, drawn by seed 0, are kept")
    assert read(whole.source).same_as(whole)
    assert read(half.source).same_as(half)


@pytest.mark.parametrize(
    ("share", "found"),
    [
        (1, "test_share 1, expected a number from 0 to below 1"),
        (-0.1, "test_share -0.1, expected a number from 0 to below 1"),
        (0.95, "test_share 0.95 of 10 rows, which leaves none for training, expected a smaller share"),
    ],
)
def test_a_share_that_leaves_no_training_rows_is_refused(tmp_path, share, found):
    path = put(tmp_path / "rows.csv", "text,labels\n" + "".join(f"{i},x\n" for i in range(10)))
    with pytest.raises(InputError) as caught:
        read(path, test_share=share)
    assert str(caught.value).endswith(found)


def test_a_share_of_rows_that_are_split_already_is_refused(tmp_path):
    put(tmp_path / "train.csv", SHOP)
    with pytest.raises(
        InputError, match=r"test_share 0.3 of rows that are split already, expected one table"
    ):
        read(tmp_path, test_share=0.3)
    assert read(tmp_path, test_share=0).same_as(read(tmp_path))
    with pytest.raises(InputError, match=r"test_share='half', expected a number"):
        read(f"{tmp_path}?test_share=half")


def test_an_unknown_option_behind_a_path_is_refused(tmp_path):
    put(tmp_path / "shop.csv", SHOP)
    with pytest.raises(InputError, match="unknown option 'label'"):
        read(f"{tmp_path / 'shop.csv'}?label=tags")


def test_options_as_a_query_come_back():
    options = ReadOptions(("a", "b c"), ("d&e", "f"), "|", strict=True, seed=7, test_share=0.5)
    assert ReadOptions().of_path("x.csv" + options.query()) == ("x.csv", options)


def test_a_column_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    file = put(tmp_path / "train.csv", SHOP)
    with pytest.raises(InputError) as caught:
        read(tmp_path, labels="tag")
    assert (caught.value.path, caught.value.line) == (file, 1)
    assert "no column 'tag'" in str(caught.value)
    assert "did you mean 'tags'?" in str(caught.value)


def test_plain_names_need_no_line(tmp_path):
    assert train_only(tmp_path, "text,labels,weight,id\na,x,1,7\n").notes == ()


@pytest.mark.parametrize(
    "name", ["LABELS", "Label", "Tags", "categories", "Subjects", "KEYWORDS", "topics", "class"]
)
@pytest.mark.parametrize("text", ["TEXT", "Title", "content", "Description", "body", "Name", "query"])
def test_usual_names_are_found_in_any_case(tmp_path, text, name):
    corpus = train_only(tmp_path, f"{name},{text}\nx|y,words\n")
    assert corpus.train.texts.to_pylist() == ["words"]
    assert label_names(corpus) == [["x", "y"]]


@pytest.mark.parametrize(
    ("separator", "found"),
    [("|", [["a, b", "c"]]), (",", [["a", "b|c"]]), ("none", [["a, b|c"]]), ("space", [["a,", "b|c"]])],
)
def test_the_separator_can_be_given(tmp_path, separator, found):
    corpus = train_only(tmp_path, 'text,labels\nt,"a, b|c"\n', separator=separator)
    assert label_names(corpus) == found


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("['red hat', \"it's\"]", ["it's", "red hat"]),
        ("['a' 'b']", ["a", "b"]),
        ("['a'\n 'b']", ["a", "b"]),
        ("[]", []),
        ("[3 12]", ["3", "12"]),
    ],
)
def test_lists_as_python_and_numpy_print_them_are_read(tmp_path, cell, found):
    quoted = '"' + cell.replace('"', '""') + '"'
    assert label_names(train_only(tmp_path, f"text,labels\nt,{quoted}\n")) == [found]


def test_a_list_that_numpy_cut_short_is_refused_with_its_line(tmp_path):
    file = put(tmp_path / "train.csv", "text,labels\nt,\"['a' ... 'z']\"\n")
    assert_refused(tmp_path, file, 2, "malformed JSON", "")


CATEGORIES = [("hat", "clothes", ["wool", "winter"]), ("oak table", "furniture", []), ("shoe", "", ["wool"])]


@pytest.mark.parametrize("name", ["train.csv", "train.jsonl", "train.parquet"])
def test_labels_of_several_columns_are_joined(tmp_path, name):
    rows = [{"title": title, "category": one, "tags": many} for title, one, many in CATEGORIES]
    if name == "train.parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / name)
    else:
        cells = "title,category,tags\n" + "".join(
            f"{t},{one},{'|'.join(many)}\n" for t, one, many in CATEGORIES
        )
        put(tmp_path / name, cells if name == "train.csv" else jsonl(rows))
    corpus = read(tmp_path, labels="category,tags")
    expected = [["clothes", "winter", "wool"], ["furniture"], ["wool"]]
    assert [sorted(labels) for labels in label_names(corpus)] == expected
    separation = "split at '|'" if name == "train.csv" else "one label a cell"
    assert corpus.notes == (f"text = title; labels = category + tags, {separation}",)
    assert read(corpus.source).same_as(corpus)


def test_soft_labels_of_one_column_stay_soft_beside_those_of_another(tmp_path):
    content = 'text,kind,tags\nhat,clothes,"{""wool"": 0.25}"\n'
    corpus = train_only(tmp_path, content, labels=["kind", "tags"])
    assert dict(zip(corpus.labels.names.to_pylist(), corpus.train.targets.toarray()[0], strict=True)) == {
        "clothes": 1,
        "wool": 0.25,
    }


def test_relevance_beside_labels_of_several_columns_is_refused(tmp_path):
    with pytest.raises(InputError, match="labels of several columns, and also relevance"):
        train_only(tmp_path, "text,kind,tags,relevance\nhat,clothes,wool,0.5\n", labels="kind,tags")


def test_json_fields_that_are_not_read_are_named(tmp_path):
    row = {"title": "hat", "tags": ["wool"], "price": 3, "seller": {"name": "x"}}
    corpus = train_only(tmp_path, jsonl([row]), "train.jsonl")
    assert corpus.notes == ("text = title; labels = tags, lists; ignored: price, seller",)


def test_json_fields_of_late_rows_are_named_too(tmp_path):
    rows = [{"text": "a", "labels": ["x"]}] * 200 + [{"text": "b", "labels": ["x"], "late": 1}]
    corpus = train_only(tmp_path, jsonl(rows), "train.jsonl")
    assert corpus.notes == ("text = text; labels = labels, lists; ignored: late",)


ODD = {
    "null text": ('{"text": null, "labels": [0]}', "null instead of a text"),
    "null labels": ('{"text": "x", "labels": null}', "null instead of labels"),
    "NaN for labels": ('{"text": "x", "labels": NaN}', "null instead of labels"),
    "null label": ('{"text": "x", "labels": [0, null]}', "null among the labels"),
    "no text": ('{"labels": [0]}', "null instead of a text"),
    "no labels": ('{"text": "x"}', "null instead of labels"),
    "label twice": ('{"text": "x", "labels": [0, 1, 0]}', "a label twice in a row"),
    "id and name of one": ('{"text": "x", "labels": [0, "hats"]}', "a label twice in a row"),
    "blanks": ('{"text": "x", "labels": [" hats "]}', "blanks around a label"),
    "blank label": ('{"text": "x", "labels": ["", 1]}', "blanks around a label"),
    "empty text": ('{"text": " ", "labels": [0]}', "an empty text"),
}


@pytest.mark.parametrize("case", ODD)
def test_an_odd_row_is_kept_and_counted_or_refused_with_its_line(tmp_path, case):
    row, what = ODD[case]
    good = '{"text": "hat", "labels": [0]}\n'
    file = rows_folder(tmp_path, good + row + "\n" + good, [{"text": "hats"}, {"text": "shoes"}])
    corpus = read(tmp_path)
    assert len(corpus.train) == 3
    assert f"{what} (1)" in corpus.notes[-1]
    assert_refused(tmp_path, file, 2, what, "--strict", strict=True)


def test_odd_labels_are_mended_as_one_would_by_hand(tmp_path):
    lines = ['{"text": "a", "labels": [" hats ", "hats", ""]}', '{"text": "b", "labels": null}']
    corpus = train_only(tmp_path, "\n".join(lines), "train.jsonl")
    assert corpus.labels.names.to_pylist() == ["hats"]
    assert label_names(corpus) == [["hats"], []]


def test_of_a_soft_label_twice_the_larger_value_counts(tmp_path):
    rows_folder(tmp_path, '{"text": "a", "labels": [1, 0, 1], "relevance": [0.25, 1, 0.5]}\n')
    assert read(tmp_path).train.targets.toarray().tolist() == [[1, 0.5]]


def test_odd_parquet_rows_are_mended_too(tmp_path):
    table = pa.table({"text": ["a", None], "labels": [["x", None, "x"], None]})
    pyarrow.parquet.write_table(table, tmp_path / "train.parquet")
    corpus = read(tmp_path)
    assert corpus.train.texts.to_pylist() == ["a", ""]
    assert label_names(corpus) == [["x"], []]
    error = refusal(tmp_path, strict=True)
    assert error.line == 1


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-8-sig"])
@pytest.mark.parametrize("name", ["train.csv", "train.csv.gz", "train.jsonl", "train.txt"])
def test_an_encoding_is_found_and_said(tmp_path, name, encoding):
    content = {
        ".csv": "text,labels\r\ncafé,x\r\nnaïve,y\r\n",
        ".jsonl": '{"text": "café", "labels": ["x"]}\n{"text": "naïve", "labels": ["y"]}\n',
        ".txt": "__label__x café\n__label__y naïve\n",
    }["." + name.split(".")[1]]
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    corpus = train_only(tmp_path, (mark + content).encode(encoding), name)
    assert corpus.train.texts.to_pylist() == ["café", "naïve"]
    said = encoding.removesuffix("-le")
    assert corpus.notes == (() if said == "utf-8-sig" else (f"{name} is read as {said}",))


def test_every_file_of_a_corpus_may_have_another_encoding(tmp_path):
    vocabulary = put(tmp_path / "v.tsv", "<http://e/1>\tcafé\n".encode("cp1252"))
    put(tmp_path / "docs" / "a.txt", "thé".encode("utf-16"))
    put(tmp_path / "docs" / "a.tsv", "<http://e/1>\tcafé\n".encode("cp1252"))
    corpus = read(tmp_path / "docs", vocabulary=vocabulary)
    assert corpus.train.texts.to_pylist() == ["thé"]
    assert corpus.labels.names.to_pylist() == ["café"]
    assert corpus.notes == ("a.txt is read as utf-16", "a.tsv is read as cp1252", "v.tsv is read as cp1252")


def test_an_error_in_a_file_of_another_encoding_names_that_file_and_line(tmp_path):
    file = put(tmp_path / "train.csv", "text,labels,weight\ncafé,x,1\ncafé,x,heavy\n".encode("cp1252"))
    assert_refused(tmp_path, file, 3, "weight is 'heavy'", "a number")


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ('[\n{"text": "a", "labels": ["x"]},\n{"text": 5, "labels": []}\n]', 3, "text is 5"),
        ('[\n{"text": "a", "labels": ["x"]}\n{"text": "b"}]', 3, '\'{"text": "b"}]\''),
        ('[{"text": "a", "labels": ["x"]}', 1, "the end of the file"),
        ('{"data": [{"text": "a"}], "more": [{"text": "b"}]}', 1, "two lists of rows: data and more"),
        ('{\n"text": ["a", "b"],\n"labels": [["x"]]\n}', 1, "2 text, 1 labels"),
    ],
)
def test_a_bad_json_document_is_refused_with_its_line(tmp_path, content, line, found):
    file = put(tmp_path / "train.json", content)
    assert_refused(tmp_path, file, line, found, "")


def test_a_json_object_of_split_rows_by_pandas_is_read(tmp_path):
    content = {"columns": ["text", "tags"], "index": [0], "data": [["a", ["x"]]]}
    assert label_names(train_only(tmp_path, json.dumps(content), "train.json")) == [["x"]]


def test_labels_that_a_vocabulary_lacks_are_added_and_said_or_refused(tmp_path):
    vocabulary = put(tmp_path / "vocabulary.tsv", "<http://e/1>\twool\n")
    file = put(tmp_path / "data" / "train.tsv", "hat\t<http://e/1> <http://e/2>\nshoe\t<http://e/1>\n")
    corpus = read(tmp_path / "data", vocabulary=vocabulary)
    assert corpus.labels.ids.to_pylist() == ["http://e/1", "http://e/2"]
    assert corpus.labels.texts.to_pylist() == ["wool", ""]
    assert "added 1 labels that vocabulary.tsv does not have: http://e/2" in corpus.notes
    with pytest.raises(InputError) as caught:
        read(tmp_path / "data", vocabulary=vocabulary, strict=True)
    assert (caught.value.path, caught.value.line) == (file, 1)


def test_a_language_of_a_vocabulary_is_chosen(tmp_path):
    vocabulary = put(tmp_path / "v.csv", "uri,label_en,label_fi\nhttp://e/1,wool,villa\n")
    put(tmp_path / "data" / "train.csv", "text,subject_uris\nhat,<http://e/1>\n")
    corpus = read(tmp_path / "data", vocabulary=vocabulary, language="fi")
    assert corpus.labels.texts.to_pylist() == ["villa"]
    with pytest.raises(InputError, match="no texts in 'sv', expected one of en, fi"):
        read(tmp_path / "data", vocabulary=vocabulary, language="sv")


def test_a_workbook_of_several_sheets_asks_for_one_and_takes_it(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for name in ("old", "new"):
        sheet = book.create_sheet(name)
        for row in (["text", "tags"], [f"a {name} hat", "wool"]):
            sheet.append(row)
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(
        InputError, match=r"2 sheets: old, new, expected which one to read: b.xlsx\?table=old"
    ):
        read(tmp_path / "b.xlsx")
    assert read(f"{tmp_path / 'b.xlsx'}?table=new").train.texts.to_pylist() == ["a new hat"]
    with pytest.raises(InputError, match="no sheet 'last', expected one of Sheet, old, new"):
        read(f"{tmp_path / 'b.xlsx'}?table=last")


@pytest.mark.parametrize(("name", "extra"), [("t.xlsx", "xlsx"), ("t.csv?vocabulary=v.ttl", "skos")])
def test_a_missing_extra_is_one_line_with_the_command(tmp_path, monkeypatch, name, extra):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    monkeypatch.setitem(__import__("sys").modules, "rdflib", None)
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "t.xlsx", "x")
    put(tmp_path / "t.csv", SHOP)
    put(tmp_path / "v.ttl", "")
    with pytest.raises(InputError, match=rf"pip install 'tailwright\[{extra}\]'"):
        read(name)
