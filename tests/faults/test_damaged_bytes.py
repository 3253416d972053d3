"""Damaged data files that were once no InputError, each as `benchmarks/faults.py` found it."""

from __future__ import annotations

import sqlite3
import zipfile

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import tailwright as tw
from tailwright.errors import InputError

TABLE = pa.table({"text": ["red shoes " * 50, "hat"], "labels": [["shoes"], ["hats"]]})


def test_arrow_data_that_cannot_be_decompressed_are_refused(tmp_path):
    path = tmp_path / "rows.feather"
    pyarrow.feather.write_feather(TABLE, path, compression="lz4")
    frame = b"\x04\x22\x4d\x18"  # an LZ4 frame begins so, and its sizes follow
    data = path.read_bytes()
    assert frame in data
    place = data.index(frame) + len(frame)
    path.write_bytes(data[:place] + b"\xff\xff" + data[place + 2 :])
    with pytest.raises(InputError, match=r"rows\.feather: no Arrow data \(.*\), expected an Arrow file"):
        tw.read(path)


def test_a_workbook_whose_sheet_cannot_be_decompressed_is_refused(tmp_path):
    path = tmp_path / "rows.xlsx"
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (("text", "labels"), ("red shoes", "shoes"), ("hat", "hats")):
        book.active.append(row)
    book.save(path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        place = (
            archive.getinfo("xl/worksheets/sheet1.xml").header_offset + 30 + len("xl/worksheets/sheet1.xml")
        )
    path.write_bytes(data[:place] + b"\xff" * 20 + data[place + 20 :])
    with pytest.raises(InputError, match=r"rows\.xlsx: no workbook \(Error -3 .*\), expected an \.xlsx file"):
        tw.read(path)


def test_a_database_whose_damage_sqlite_quotes_is_refused(tmp_path):
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE shop (text, labels)")
        database.execute("INSERT INTO shop VALUES ('hat', 'hats')")
    database.close()
    path.write_bytes(path.read_bytes().replace(b"shop (text", b"shop \xedtext"))
    with pytest.raises(
        InputError, match=r"rows\.db: no readable database \(.* 0xed .*\), expected a SQLite file"
    ):
        tw.read(path)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow"])
@pytest.mark.parametrize("damaged", ["größe", "länge"])
def test_a_damaged_name_of_a_column_or_of_a_field_in_one_is_refused(tmp_path, name, damaged):
    path = tmp_path / name
    table = TABLE.append_column("größe", pa.array([[{"länge": 1}], []]))
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table.replace_schema_metadata(None), path, store_schema=False)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    utf8 = damaged.encode()
    path.write_bytes(path.read_bytes().replace(utf8, damaged.encode("latin-1").ljust(len(utf8), b"n")))
    with pytest.raises(InputError, match=r"rows\.\w+: no (Parquet|Arrow) data \('utf-8' codec can't decode"):
        tw.read(path)


def with_whole_numbers_for_texts(path, column):
    """Say in the schema of a Parquet file that the column has whole numbers, as a flipped bit may."""
    data = path.read_bytes()
    place = data.index(b"\x15\x0c\x25\x02\x18" + bytes([len(column)]) + column.encode())
    path.write_bytes(data[: place + 1] + b"\x04" + data[place + 2 :])


def test_columns_that_are_not_what_the_schema_says_are_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(TABLE, path, store_schema=False)
    with_whole_numbers_for_texts(path, "text")
    with pytest.raises(InputError, match=r"rows\.parquet: cannot be read: .* does not support INT64"):
        tw.read(path)


def save_dataset(folder, **changed):
    """A folder as `datasets` writes it, some of its files with other content."""
    with pa.OSFile(str(folder / "data.arrow"), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
    files = {"dataset_info": "{}", "state": '{"_data_files": [{"filename": "data.arrow"}]}', **changed}
    for name, content in files.items():
        (folder / f"{name}.json").write_text(content)


CLASSES = '{"features": {"labels": {"_type": "ClassLabel", "names": %s}}}'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("dataset_info", "[" * 100_000),
        ("dataset_info", '{"features": [1]}'),
        ("state", "[" * 100_000),
        ("state", '{"_data_files": 5}'),
        ("state", '{"_data_files": [5]}'),
        ("state", '{"_data_files": [{}]}'),
        ("state", '{"_data_files": []}'),
        ("state", '{"_data_files": [{"filename": "../data.arrow"}]}'),
        ("dataset_dict", '{"splits": 5}'),
        ("dataset_dict", '{"splits": [{"x": 1}]}'),
    ],
)
def test_json_of_datasets_that_is_none_is_refused_with_its_file(tmp_path, name, content):
    save_dataset(tmp_path, **{name: content})
    with pytest.raises(InputError, match=rf"{name}\.json: .*, expected .*`datasets`"):
        tw.read(tmp_path)


@pytest.mark.parametrize("names", ["5", "[5]", '["a", null]', '["a", "b"]'])
def test_classes_that_are_none_are_refused(tmp_path, names):
    save_dataset(tmp_path, dataset_info=CLASSES % names)
    with pytest.raises(InputError, match=r"data\.arrow: .*, expected (names of classes|a ClassLabel)"):
        tw.read(tmp_path)


def test_a_split_without_files_is_refused(tmp_path):
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with pytest.raises(InputError, match="train: no data files, expected at least one"):
        tw.read(tmp_path)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.txt"])
def test_a_carriage_return_within_the_first_line_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"te\rxt\tlabels\nred shoes\tshoes\n")
    with pytest.raises(InputError, match=rf"{name}:1: a first line that is no record .*, expected cells"):
        tw.read(tmp_path / name)
