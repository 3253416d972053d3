"""Texts to be labelled, in blocks: the same rows from every format, lines that end where lines end."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tailwright.data import text_source as module
from tailwright.data.text_source import text_source
from tailwright.errors import InputError

TEXTS = ["red shoe", "", 'a "hat", of\nwool', "café", "last"]
IDS = ["A-1", "A-2", "A-3", "", "A-5"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "ROWS_A_BLOCK", 2)


def rows_of(path, **options) -> tuple[list[str], list[str] | None, tuple[str, ...]]:
    with text_source(path, **options) as source:
        blocks = list(source.blocks())
        again = [block.texts.to_pylist() for block in source.blocks()]
    assert all(len(block.texts) <= 2 for block in blocks)
    assert again == [block.texts.to_pylist() for block in blocks]
    texts = [text for block in again for text in block]
    assert len(texts) == source.rows
    has_ids = {block.ids is not None for block in blocks}
    assert has_ids <= {source.has_ids}
    ids = [key for block in blocks for key in block.ids.to_pylist()] if source.has_ids else None
    return texts, ids, source.notes


def write_csv(path):
    cells = ['"' + text.replace('"', '""') + '"' for text in TEXTS]
    lines = [f"{key},{cell},9" for key, cell in zip(IDS, cells, strict=True)]
    path.write_text("\n".join(["sku,title,price", *lines]) + "\n", encoding="utf-8")


def objects() -> list[dict]:
    return [{"sku": key, "title": text} for key, text in zip(IDS, TEXTS, strict=True)]


def write_table(path):
    table = pa.table({"sku": IDS, "title": TEXTS, "price": [9] * len(TEXTS)})
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path)


def write_database(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE shop (sku, title)")
        database.executemany("INSERT INTO shop VALUES (?, ?)", zip(IDS, TEXTS, strict=True))
    database.close()


WRITERS = {
    "new.csv": write_csv,
    "new.txt": write_csv,
    "new.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, objects())) + "\n"),
    "new.jsonl.gz": lambda path: path.write_bytes(
        gzip.compress("\n".join(map(json.dumps, objects())).encode())
    ),
    "new.json": lambda path: path.write_text(json.dumps(objects(), indent=1)),
    "new.parquet": write_table,
    "new.feather": write_table,
    "new.db": write_database,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_texts_and_ids(name, tmp_path):
    WRITERS[name](tmp_path / name)
    found = rows_of(tmp_path / name, text="title", id="sku")
    assert found == (TEXTS, IDS, ("text = title; id = sku",))


@given(st.text(st.sampled_from("ab \r\n\v\f\x1c\x85\u2028\u2029\ufeffé"), max_size=12))
@example("one\u2028still one\r\ntwo\x0bstill two\x85\x0c\nlone \r return")
def test_lines_end_at_line_feeds_alone(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("lines") / "texts.txt"
    path.write_bytes(content.encode())
    first, *others = content.split("\n")
    lines = [first.removeprefix("\ufeff"), *others]
    expected = lines if (others or [first])[-1] else lines[:-1]
    assert rows_of(path)[0] == [line.removesuffix("\r") for line in expected]


def test_a_text_on_each_line_of_standard_input_or_a_table_if_columns_are_named(monkeypatch):
    content = "title,sku\nred shoe,7\n"
    for options, texts in (({}, ["title,sku", "red shoe,7"]), ({"text": "title"}, ["red shoe"])):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        assert rows_of("-", **options)[0] == texts


def test_a_table_in_another_encoding_is_read_and_lines_must_be_utf8(tmp_path, monkeypatch):
    (tmp_path / "new.csv").write_bytes("text\ncafé\nhat\nshoe\n".encode("cp1252"))
    assert rows_of(tmp_path / "new.csv") == (
        ["café", "hat", "shoe"],
        None,
        ("new.csv is read as cp1252", "text = text"),
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"good\n\xff\n")))
    with (
        pytest.raises(InputError, match="standard input:2: found bytes that are not UTF-8"),
        text_source("-"),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("new.csv", "text,id\na,1\nb,2\nc,3\nd\n", r"new.csv:5: 1 cells, expected 2 as in the header"),
        ("new.csv", "text\n", r"new.csv:1: a header without rows, expected at least one row"),
        ("new.jsonl", '{"text": "a"}\n' * 4 + '{"text": 7}\n', r"new.jsonl:5: text is 7, expected a string"),
        ("new.jsonl", '{"text": "a"}\n[1]\n', r"new.jsonl:2: a row is \[1\], expected an object"),
        ("new.csv", "price\n1\n", r"new.csv:1: the columns price, expected a text"),
    ],
)
def test_a_bad_row_is_found_before_the_first_block_is_given(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message), text_source(tmp_path / name):
        pytest.fail("the file was taken")


def test_a_bad_row_of_parquet_has_its_number_in_the_file(tmp_path):
    column = pa.array([None, None, None, ["a list"]])
    pyarrow.parquet.write_table(pa.table({"text": column}), tmp_path / "new.parquet")
    with (
        text_source(tmp_path / "new.parquet") as source,
        pytest.raises(InputError, match=r"new.parquet:4: text is \['a list'\], expected a string"),
    ):
        list(source.blocks())


def test_a_folder_and_a_file_that_is_not_there_are_one_line(tmp_path):
    with pytest.raises(InputError, match="a folder, expected a table"), text_source(tmp_path):
        pass
    with pytest.raises(InputError, match="no such file"), text_source(tmp_path / "gone.csv"):
        pass
