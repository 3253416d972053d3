"""Files as people have them, each made here by code of any rows, with what should be found in it."""

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
from everyday_rows import Rows

from tailwright.data.corpus import Corpus


class Everyday(NamedTuple):
    """What reading a file should find; `texts` and `labels` are of all rows in their order."""

    path: str
    texts: list[str]
    labels: list[list[str]]
    options: dict[str, str] = {}  # noqa: RUF012 (never changed)
    ids: list[str] | None = None


Maker = Callable[[Path, Rows], Everyday]
FILES: dict[str, Maker] = {}


def everyday(make: Maker) -> Maker:
    FILES[make.__name__] = make
    return make


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',;"|\t\r\n') else cell


def _table(
    rows: Rows, mark: str = ",", between: str = "|", header: str = "title description tags", end: str = "\n"
) -> str:
    records = [header.split(" ")]
    records += [[title, text, between.join(tags)] for title, text, tags in rows.all()]
    return "".join(mark.join(map(_quoted, record)) + end for record in records if record != [""])


def _put(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def _objects(rows: Rows, text: str = "title", labels: str = "tags") -> list[dict[str, object]]:
    return [{text: title, labels: tags} for title, _, tags in rows.all()]


@everyday
def shop_csv_with_semicolons(folder: Path, rows: Rows) -> Everyday:
    return Everyday(_put(folder, "shop.csv", _table(rows, ";", "|")), rows.joined, rows.tags)


@everyday
def shop_csv_with_more_columns(folder: Path, rows: Rows) -> Everyday:
    ids = [f"A-{place}" for place, _ in enumerate(rows.titles)]
    records = "".join(
        f"{_quoted(title)},{_quoted(text)},{_quoted('|'.join(tags))},{sku}\n"
        for (title, text, tags), sku in zip(rows.all(), ids, strict=True)
    )
    path = _put(folder, "shop.csv", "title,description,tags,sku\n" + records)
    return Everyday(path, rows.titles, rows.tags, {"text": "title", "id": "sku"}, ids)


@everyday
def shop_csv_with_two_columns_of_labels(folder: Path, rows: Rows) -> Everyday:
    cells = [(tags[0], "|".join(tags[1:])) for tags in rows.tags]
    records = "".join(
        f"{_quoted(title)};{first};{_quoted(others)}\n"
        for title, (first, others) in zip(rows.titles, cells, strict=True)
    )
    path = _put(folder, "shop.csv", "name;category;subcategory\n" + records)
    return Everyday(path, rows.titles, rows.tags, {"labels": "category,subcategory"})


@everyday
def csv_without_a_header(folder: Path, rows: Rows) -> Everyday:
    path = _put(folder, "news.csv", _table(rows, header=""))
    return Everyday(path, rows.joined, rows.tags, {"text": "1,2", "labels": "3"})


@everyday
def excel_export_in_cp1252(folder: Path, rows: Rows) -> Everyday:
    rows = rows.that(_is_western)
    content = _table(rows, ";", ",", "Title Description Categories", "\r\n")
    return Everyday(_put(folder, "export.csv", content.encode("cp1252")), rows.joined, rows.tags)


def _is_western(text: str) -> bool:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


@everyday
def excel_unicode_text(folder: Path, rows: Rows) -> Everyday:
    content = _table(rows, "\t", ", ", end="\r\n").encode("utf-16")
    return Everyday(_put(folder, "export.txt", content), rows.joined, rows.tags)


@everyday
def excel_export_with_a_byte_order_mark(folder: Path, rows: Rows) -> Everyday:
    content = _table(rows, ";", "|", end="\r\n").encode("utf-8-sig")
    return Everyday(_put(folder, "export.csv", content), rows.joined, rows.tags)


@everyday
def csv_with_bars(folder: Path, rows: Rows) -> Everyday:
    return Everyday(
        _put(folder, "dump.csv", _table(rows, "|", ",", "Name Body Topics")), rows.joined, rows.tags
    )


@everyday
def tsv_with_tabs(folder: Path, rows: Rows) -> Everyday:
    content = _table(rows, "\t", "; ", "title content keywords")
    return Everyday(_put(folder, "dump.tsv", content), rows.joined, rows.tags)


@everyday
def csv_with_line_breaks_in_cells(folder: Path, rows: Rows) -> Everyday:
    texts = [f"{title}\r\nsecond line" for title in rows.titles]
    records = [f"{_quoted(text)},{'|'.join(tags)}\r\n" for text, tags in zip(texts, rows.tags, strict=True)]
    return Everyday(_put(folder, "tickets.csv", "body,label\r\n" + "".join(records)), texts, rows.tags)


@everyday
def pandas_csv_with_an_index_and_lists(folder: Path, rows: Rows) -> Everyday:
    records = [
        f"{place},{_quoted(title)},{_quoted(repr(tags))}\n"
        for place, (title, _, tags) in enumerate(rows.all())
    ]
    return Everyday(_put(folder, "frame.csv", ",text,labels\n" + "".join(records)), rows.titles, rows.tags)


@everyday
def pandas_csv_with_numpy_arrays(folder: Path, rows: Rows) -> Everyday:
    arrays = ["[" + " ".join(map(repr, tags)) + "]" for tags in rows.tags]
    records = [f"{_quoted(title)},{_quoted(cell)}\n" for title, cell in zip(rows.titles, arrays, strict=True)]
    return Everyday(_put(folder, "frame.csv", "title,tags\n" + "".join(records)), rows.titles, rows.tags)


@everyday
def pandas_parquet_with_a_list_column(folder: Path, rows: Rows) -> Everyday:
    path = folder / "frame.parquet"
    columns = {"title": rows.titles, "description": rows.texts, "tags": rows.tags}
    index = list(range(len(rows.titles)))
    pyarrow.parquet.write_table(pa.table({**columns, "__index_level_0__": index}), path)
    return Everyday(str(path), rows.joined, rows.tags)


@everyday
def feather_file(folder: Path, rows: Rows) -> Everyday:
    path = folder / "frame.feather"
    pyarrow.feather.write_feather(pa.table({"Text": rows.titles, "Label": rows.halves}), path)
    return Everyday(str(path), rows.titles, [[half] for half in rows.halves])


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
def huggingface_dataset(folder: Path, rows: Rows) -> Everyday:
    table = pa.table({"title": rows.titles, "content": rows.texts, "categories": rows.tags})
    _save_to_disk(folder / "saved", table)
    return Everyday(str(folder / "saved"), rows.joined, rows.tags)


@everyday
def huggingface_dataset_dict_with_class_labels(folder: Path, rows: Rows) -> Everyday:
    names = {
        "label": {"names": ["bad", "good"], "_type": "ClassLabel"},
        "text": {"dtype": "string", "_type": "Value"},
    }
    table = pa.table({"text": rows.titles, "label": [int(half == "good") for half in rows.halves]})
    _save_to_disk(folder / "saved" / "train", table[:2], names)
    _save_to_disk(folder / "saved" / "test", table[2:], names)
    (folder / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    return Everyday(str(folder / "saved"), rows.titles, [[half] for half in rows.halves])


@everyday
def huggingface_parquet_shards(folder: Path, rows: Rows) -> Everyday:
    (folder / "hub" / "data").mkdir(parents=True)
    table = pa.table({"text": rows.titles, "labels": rows.tags})
    shards = {
        "train-00000-of-00002": table[:1],
        "train-00001-of-00002": table[1:2],
        "test-00000-of-00001": table[2:],
    }
    for name, shard in shards.items():
        pyarrow.parquet.write_table(shard, folder / "hub" / "data" / f"{name}.parquet")
    return Everyday(str(folder / "hub"), rows.titles, rows.tags)


def _uri_cells(rows: Rows) -> list[str]:
    return [" ".join(f"<{uri}>" for uri in uris) for uris in rows.tags_as_uris]


@everyday
def annif_tsv(folder: Path, rows: Rows) -> Everyday:
    rows = rows.in_one_line()
    lines = [f"{title}\t{cell}\n" for title, cell in zip(rows.titles, _uri_cells(rows), strict=True)]
    return Everyday(_put(folder, "corpus.tsv", "".join(lines)), rows.titles, rows.tags_as_uris)


@everyday
def annif_csv(folder: Path, rows: Rows) -> Everyday:
    records = [
        f"{_quoted(title)},{cell}\n" for title, cell in zip(rows.titles, _uri_cells(rows), strict=True)
    ]
    path = _put(folder, "corpus.csv", "text,subject_uris\n" + "".join(records))
    return Everyday(path, rows.titles, rows.tags_as_uris)


@everyday
def annif_folder_with_keys(folder: Path, rows: Rows) -> Everyday:
    ids = [f"doc{place:03}" for place, _ in enumerate(rows.titles)]
    for key, (title, _, tags) in zip(ids, rows.all(), strict=True):
        _put(folder, f"docs/{key}.txt", title + "\n")
        _put(folder, f"docs/{key}.key", "\n".join(tags) + "\n")
    return Everyday(str(folder / "docs"), rows.titles, rows.tags, ids=ids)


@everyday
def annif_folder_with_uris(folder: Path, rows: Rows) -> Everyday:
    ids, uris = [f"doc{place:03}" for place, _ in enumerate(rows.titles)], rows.uris
    for key, (title, _, tags) in zip(ids, rows.all(), strict=True):
        _put(folder, f"docs/train/{key}.txt", title)
        _put(folder, f"docs/train/{key}.tsv", "".join(f"<{uris[tag]}>\t{tag}\n" for tag in tags))
    return Everyday(str(folder / "docs"), rows.titles, rows.tags_as_uris, ids=ids)


@everyday
def skos_vocabulary_beside_an_annif_corpus(folder: Path, rows: Rows) -> Everyday:
    pytest.importorskip("rdflib")
    turtle = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n" + "".join(
        f"<{uri}> skos:prefLabel {json.dumps(name)}@en , {json.dumps(name + '-fi')}@fi ; "
        f"skos:altLabel {json.dumps(name + 's')}@en .\n"
        for name, uri in rows.uris.items()
    )
    vocabulary = _put(folder, "subjects.ttl", turtle)
    made = annif_tsv(folder, rows)
    return made._replace(options={"vocabulary": vocabulary, "language": "en"}, labels=rows.tags)


@everyday
def annif_vocabulary_beside_an_annif_corpus(folder: Path, rows: Rows) -> Everyday:
    lines = "".join(f"<{uri}>\t{name}\n" for name, uri in rows.uris.items())
    vocabulary = _put(folder, "subjects.tsv", lines)
    return annif_csv(folder, rows)._replace(options={"vocabulary": vocabulary}, labels=rows.tags)


@everyday
def xlsx_workbook(folder: Path, rows: Rows) -> Everyday:
    openpyxl = pytest.importorskip("openpyxl")
    rows = rows.that(lambda text: not openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.search(text))
    book = openpyxl.Workbook()
    book.active.append(["SKU", "Title", "Description", "Tags"])
    for number, (title, text, tags) in enumerate(rows.all(), 17):
        book.active.append([number, title, text, ", ".join(tags)])
    book.create_sheet("Sheet2")
    book.save(folder / "products.xlsx")
    ids = [str(number) for number, _ in enumerate(rows.titles, 17)]
    return Everyday(str(folder / "products.xlsx"), rows.joined, rows.tags, {"id": "sku"}, ids)


@everyday
def sqlite_table(folder: Path, rows: Rows) -> Everyday:
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute(
            "CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT, description TEXT, tags TEXT)"
        )
        database.execute("CREATE TABLE orders (id INTEGER)")
        cells = [(title, text, ";".join(tags)) for title, text, tags in rows.all()]
        database.executemany("INSERT INTO products (title, description, tags) VALUES (?, ?, ?)", cells)
    database.close()
    ids = [str(number) for number, _ in enumerate(rows.titles, 1)]
    return Everyday(f"sqlite:{folder / 'shop.db'}?table=products", rows.joined, rows.tags, ids=ids)


@everyday
def json_array(folder: Path, rows: Rows) -> Everyday:
    path = _put(folder, "items.json", json.dumps(_objects(rows), indent=2))
    return Everyday(path, rows.titles, rows.tags)


@everyday
def json_object_with_data(folder: Path, rows: Rows) -> Everyday:
    content = {"version": 2, "data": _objects(rows, "content", "subjects"), "count": 3}
    return Everyday(_put(folder, "items.json", json.dumps(content, indent=1)), rows.titles, rows.tags)


@everyday
def json_of_columns_by_pandas(folder: Path, rows: Rows) -> Everyday:
    columns = {"text": rows.titles, "tags": rows.tags}
    turned = {name: {str(row): value for row, value in enumerate(values)} for name, values in columns.items()}
    return Everyday(_put(folder, "frame.json", json.dumps(turned)), rows.titles, rows.tags)


@everyday
def json_lines_with_other_names(folder: Path, rows: Rows) -> Everyday:
    lines = "".join(json.dumps(row) + "\n" for row in _objects(rows, "headline", "topic_list"))
    path = _put(folder, "feed.ndjson", lines)
    return Everyday(path, rows.titles, rows.tags, {"text": "headline", "labels": "topic_list"})


@everyday
def json_lines_with_one_number_a_row(folder: Path, rows: Rows) -> Everyday:
    numbers = [place % 2 for place, _ in enumerate(rows.titles)]
    lines = "".join(
        json.dumps({"text": title, "label": number}) + "\n"
        for title, number in zip(rows.titles, numbers, strict=True)
    )
    path = _put(folder, "sentiment.jsonl", lines)
    return Everyday(path, rows.titles, [[str(number)] for number in numbers])


@everyday
def fasttext_with_labels_anywhere(folder: Path, rows: Rows) -> Everyday:
    rows = rows.in_one_line()
    named = [[tag.replace(" ", "_") for tag in tags] for tags in rows.tags]
    lines = [
        f"__label__{first} {title}{''.join(f' __label__{tag}' for tag in others)}\n"
        for title, (first, *others) in zip(rows.titles, named, strict=True)
    ]
    return Everyday(_put(folder, "tickets.txt", "".join(lines)), rows.titles, named)


@everyday
def standard_input(folder: Path, rows: Rows) -> Everyday:
    _put(folder, "piped", _table(rows, "\t", "|"))
    return Everyday("-", rows.joined, rows.tags)


def found(corpus: Corpus) -> tuple[list[str], list[list[str]], list[str] | None]:
    """(texts, label names, ids) of all rows, those of a table in its order."""
    names = corpus.labels.names.to_pylist()
    rows = []
    for data in corpus.splits().values():
        for row in range(len(data)):
            labels = data.targets.indices[data.targets.indptr[row] : data.targets.indptr[row + 1]]
            key = None if data.ids is None else data.ids[row].as_py()
            rows.append((data.texts[row].as_py(), sorted(names[i] for i in labels), key))
    ids = [row[2] for row in rows]
    return [row[0] for row in rows], [row[1] for row in rows], ids if any(ids) else None
