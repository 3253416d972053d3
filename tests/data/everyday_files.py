"""Files as people have them, each made here by code, with what should be found in it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tailwright.data.corpus import Corpus

# Three products, the first and the last with a letter beyond ASCII.
TITLES = ["Café table", "Wool hat", "Garden chair, façade"]
TEXTS = ["round, of oak", 'a "warm" one', "two of them"]
TAGS = [["furniture", "indoor"], ["hats"], ["furniture", "outdoor"]]
JOINED = [f"{title} {text}" for title, text in zip(TITLES, TEXTS, strict=True)]
URIS = {
    name: f"http://example.org/{place}"
    for place, name in enumerate(["furniture", "hats", "indoor", "outdoor"])
}


class Everyday(NamedTuple):
    """What reading a file should find; `texts` and `labels` are of all rows in their order."""

    path: str
    options: dict[str, str] = {}  # noqa: RUF012 (never changed)
    texts: list[str] = JOINED
    labels: list[list[str]] = TAGS
    ids: list[str] | None = None


Maker = Callable[[Path], Everyday]
FILES: dict[str, Maker] = {}


def everyday(make: Maker) -> Maker:
    FILES[make.__name__] = make
    return make


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',;"|\n') else cell


def _table(
    mark: str = ",", between: str = "|", header: str = "title description tags", end: str = "\n"
) -> str:
    rows = [header.split(" ")]
    rows += [[title, text, between.join(tags)] for title, text, tags in zip(TITLES, TEXTS, TAGS, strict=True)]
    return "".join(mark.join(map(_quoted, row)) + end for row in rows)


def _put(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def _objects(text: str = "title", labels: str = "tags") -> list[dict[str, object]]:
    return [{text: title, labels: tags} for title, tags in zip(TITLES, TAGS, strict=True)]


@everyday
def shop_csv_with_semicolons(folder: Path) -> Everyday:
    return Everyday(_put(folder, "shop.csv", _table(";", "|")))


@everyday
def shop_csv_with_more_columns(folder: Path) -> Everyday:
    rows = _table().splitlines()
    more = [f"{cells},{sku}" for cells, sku in zip(rows, ["sku", "A-1", "A-2", "A-3"], strict=True)]
    path = _put(folder, "shop.csv", "\n".join(more) + "\n")
    return Everyday(path, {"text": "title", "id": "sku"}, texts=TITLES, ids=["A-1", "A-2", "A-3"])


@everyday
def excel_export_in_cp1252(folder: Path) -> Everyday:
    content = _table(";", ",", "Title Description Categories", "\r\n")
    return Everyday(_put(folder, "export.csv", content.encode("cp1252")))


@everyday
def excel_unicode_text(folder: Path) -> Everyday:
    return Everyday(_put(folder, "export.txt", _table("\t", ", ", end="\r\n").encode("utf-16")))


@everyday
def excel_export_with_a_byte_order_mark(folder: Path) -> Everyday:
    return Everyday(_put(folder, "export.csv", _table(";", "|", end="\r\n").encode("utf-8-sig")))


@everyday
def csv_with_bars(folder: Path) -> Everyday:
    return Everyday(_put(folder, "dump.csv", _table("|", ",", "Name Body Topics")))


@everyday
def tsv_with_tabs(folder: Path) -> Everyday:
    return Everyday(_put(folder, "dump.tsv", _table("\t", "; ", "title content keywords")))


@everyday
def csv_with_line_breaks_in_cells(folder: Path) -> Everyday:
    rows = [f'"{title}\r\nsecond line",{"|".join(tags)}' for title, tags in zip(TITLES, TAGS, strict=True)]
    path = _put(folder, "tickets.csv", "body,label\r\n" + "".join(row + "\r\n" for row in rows))
    return Everyday(path, texts=[f"{title}\r\nsecond line" for title in TITLES])


@everyday
def pandas_csv_with_an_index_and_lists(folder: Path) -> Everyday:
    rows = [f",{','.join(['text', 'labels'])}"]
    rows += [
        f"{n},{_quoted(title)},{_quoted(repr(tags))}"
        for n, (title, tags) in enumerate(zip(TITLES, TAGS, strict=True))
    ]
    return Everyday(_put(folder, "frame.csv", "\n".join(rows) + "\n"), texts=TITLES)


@everyday
def pandas_csv_with_numpy_arrays(folder: Path) -> Everyday:
    arrays = ["[" + " ".join(map(repr, tags)) + "]" for tags in TAGS]
    rows = [f"{_quoted(title)},{_quoted(cell)}" for title, cell in zip(TITLES, arrays, strict=True)]
    return Everyday(_put(folder, "frame.csv", "title,tags\n" + "\n".join(rows) + "\n"), texts=TITLES)


@everyday
def pandas_parquet_with_a_list_column(folder: Path) -> Everyday:
    path = folder / "frame.parquet"
    columns = {"title": TITLES, "description": TEXTS, "tags": TAGS, "__index_level_0__": [0, 1, 2]}
    pyarrow.parquet.write_table(pa.table(columns), path)
    return Everyday(str(path))


@everyday
def feather_file(folder: Path) -> Everyday:
    path = folder / "frame.feather"
    pyarrow.feather.write_feather(pa.table({"Text": TITLES, "Label": ["a", "b", "a"]}), path)
    return Everyday(str(path), texts=TITLES, labels=[["a"], ["b"], ["a"]])


def _save_to_disk(folder: Path, table: pa.Table, features: dict[str, object] | None = None) -> None:
    """What `datasets.Dataset.save_to_disk` writes."""
    folder.mkdir(parents=True)
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as out,
    ):
        out.write_table(table)
    (folder / "state.json").write_text(
        json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
    )
    (folder / "dataset_info.json").write_text(json.dumps({"features": features or {}}))


@everyday
def huggingface_dataset(folder: Path) -> Everyday:
    _save_to_disk(folder / "saved", pa.table({"title": TITLES, "content": TEXTS, "categories": TAGS}))
    return Everyday(str(folder / "saved"))


@everyday
def huggingface_dataset_dict_with_class_labels(folder: Path) -> Everyday:
    names = {
        "label": {"names": ["bad", "good"], "_type": "ClassLabel"},
        "text": {"dtype": "string", "_type": "Value"},
    }
    _save_to_disk(folder / "saved" / "train", pa.table({"text": TITLES[:2], "label": [1, 0]}), names)
    _save_to_disk(folder / "saved" / "test", pa.table({"text": TITLES[2:], "label": [1]}), names)
    (folder / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    return Everyday(str(folder / "saved"), texts=TITLES, labels=[["good"], ["bad"], ["good"]])


@everyday
def huggingface_parquet_shards(folder: Path) -> Everyday:
    (folder / "hub" / "data").mkdir(parents=True)
    for place in range(3):
        table = pa.table({"text": TITLES[place : place + 1], "labels": TAGS[place : place + 1]})
        name = f"train-0000{place}-of-00002.parquet" if place < 2 else "test-00000-of-00001.parquet"
        pyarrow.parquet.write_table(table, folder / "hub" / "data" / name)
    return Everyday(str(folder / "hub"), texts=TITLES)


@everyday
def annif_tsv(folder: Path) -> Everyday:
    rows = (
        f"{title}\t{' '.join(f'<{URIS[tag]}>' for tag in tags)}\n"
        for title, tags in zip(TITLES, TAGS, strict=True)
    )
    return Everyday(_put(folder, "corpus.tsv", "".join(rows)), texts=TITLES, labels=_uris())


@everyday
def annif_csv(folder: Path) -> Everyday:
    cells = [" ".join(f"<{URIS[tag]}>" for tag in tags) for tags in TAGS]
    rows = "".join(f"{_quoted(title)},{cell}\n" for title, cell in zip(TITLES, cells, strict=True))
    return Everyday(_put(folder, "corpus.csv", "text,subject_uris\n" + rows), texts=TITLES, labels=_uris())


def _uris() -> list[list[str]]:
    return [[URIS[tag] for tag in tags] for tags in TAGS]


@everyday
def annif_folder_with_keys(folder: Path) -> Everyday:
    for place, (title, tags) in enumerate(zip(TITLES, TAGS, strict=True)):
        _put(folder, f"docs/doc{place}.txt", title + "\n")
        _put(folder, f"docs/doc{place}.key", "\n".join(tags) + "\n")
    return Everyday(str(folder / "docs"), texts=TITLES, ids=["doc0", "doc1", "doc2"])


@everyday
def annif_folder_with_uris(folder: Path) -> Everyday:
    for place, (title, tags) in enumerate(zip(TITLES, TAGS, strict=True)):
        _put(folder, f"docs/train/doc{place}.txt", title)
        _put(folder, f"docs/train/doc{place}.tsv", "".join(f"<{URIS[tag]}>\t{tag}\n" for tag in tags))
    return Everyday(str(folder / "docs"), texts=TITLES, labels=_uris(), ids=["doc0", "doc1", "doc2"])


@everyday
def skos_vocabulary_beside_an_annif_corpus(folder: Path) -> Everyday:
    pytest.importorskip("rdflib")
    turtle = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n" + "".join(
        f'<{uri}> skos:prefLabel "{name}"@en , "{name}-fi"@fi ; skos:altLabel "{name}s"@en .\n'
        for name, uri in URIS.items()
    )
    vocabulary = _put(folder, "subjects.ttl", turtle)
    made = annif_tsv(folder)
    return made._replace(options={"vocabulary": vocabulary, "language": "en"}, labels=TAGS)


@everyday
def annif_vocabulary_beside_an_annif_corpus(folder: Path) -> Everyday:
    vocabulary = _put(folder, "subjects.tsv", "".join(f"<{uri}>\t{name}\n" for name, uri in URIS.items()))
    return annif_csv(folder)._replace(options={"vocabulary": vocabulary}, labels=TAGS)


@everyday
def xlsx_workbook(folder: Path) -> Everyday:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["SKU", "Title", "Description", "Tags"])
    for number, (title, text, tags) in enumerate(zip(TITLES, TEXTS, TAGS, strict=True), 17):
        book.active.append([number, title, text, ", ".join(tags)])
    book.create_sheet("Sheet2")
    book.save(folder / "products.xlsx")
    return Everyday(str(folder / "products.xlsx"), {"id": "sku"}, ids=["17", "18", "19"])


@everyday
def sqlite_table(folder: Path) -> Everyday:
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute(
            "CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT, description TEXT, tags TEXT)"
        )
        database.execute("CREATE TABLE orders (id INTEGER)")
        rows = [(title, text, ";".join(tags)) for title, text, tags in zip(TITLES, TEXTS, TAGS, strict=True)]
        database.executemany("INSERT INTO products (title, description, tags) VALUES (?, ?, ?)", rows)
    database.close()
    return Everyday(f"sqlite:{folder / 'shop.db'}?table=products", ids=["1", "2", "3"])


@everyday
def json_array(folder: Path) -> Everyday:
    return Everyday(_put(folder, "items.json", json.dumps(_objects(), indent=2)), texts=TITLES)


@everyday
def json_object_with_data(folder: Path) -> Everyday:
    content = {"version": 2, "data": _objects("content", "subjects"), "count": 3}
    return Everyday(_put(folder, "items.json", json.dumps(content, indent=1)), texts=TITLES)


@everyday
def json_of_columns_by_pandas(folder: Path) -> Everyday:
    columns = {"text": TITLES, "tags": TAGS}
    turned = {name: {str(row): value for row, value in enumerate(values)} for name, values in columns.items()}
    return Everyday(_put(folder, "frame.json", json.dumps(turned)), texts=TITLES)


@everyday
def json_lines_with_other_names(folder: Path) -> Everyday:
    rows = [{"headline": title, "topic_list": tags} for title, tags in zip(TITLES, TAGS, strict=True)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path = _put(folder, "feed.ndjson", lines)
    return Everyday(path, {"text": "headline", "labels": "topic_list"}, texts=TITLES)


@everyday
def json_lines_with_one_number_a_row(folder: Path) -> Everyday:
    lines = "".join(
        json.dumps({"text": title, "label": place % 2}) + "\n" for place, title in enumerate(TITLES)
    )
    return Everyday(_put(folder, "sentiment.jsonl", lines), texts=TITLES, labels=[["0"], ["1"], ["0"]])


@everyday
def fasttext_with_labels_anywhere(folder: Path) -> Everyday:
    rows = [
        f"__label__{tags[0]} {title}{''.join(f' __label__{tag}' for tag in tags[1:])}\n"
        for title, tags in zip(TITLES, TAGS, strict=True)
    ]
    return Everyday(_put(folder, "tickets.txt", "".join(rows)), texts=TITLES)


@everyday
def standard_input(folder: Path) -> Everyday:
    _put(folder, "piped", _table("\t", "|"))
    return Everyday("-")


def found(corpus: Corpus) -> tuple[list[str], list[list[str]], list[str] | None]:
    """(texts, label names, ids) of all rows in the order of the file."""
    names = corpus.labels.names.to_pylist()
    rows = []
    for offset, data in enumerate(corpus.splits().values()):
        for row in range(len(data)):
            labels = data.targets.indices[data.targets.indptr[row] : data.targets.indptr[row + 1]]
            key = None if data.ids is None else data.ids[row].as_py()
            rows.append(
                (
                    offset * 1000,
                    data.origin.rows[row],
                    data.texts[row].as_py(),
                    [names[i] for i in labels],
                    key,
                )
            )
    is_parted = len({row[1] for row in rows}) == len(
        rows
    )  # a file whose rows were drawn for training and test
    rows.sort(key=lambda row: row[1] if is_parted else row[:2])
    ids = [row[4] for row in rows]
    return [row[2] for row in rows], [sorted(row[3]) for row in rows], ids if any(ids) else None
