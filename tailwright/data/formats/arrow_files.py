"""Arrow's own files (`.arrow`, `.feather`; for files or for streams), and Hugging Face's folders of them.

`datasets` writes a folder with `state.json` and `data-00000-of-00001.arrow` for a `Dataset`, and one with
`dataset_dict.json` and such a folder for each split of a `DatasetDict`. On the hub, a split is in Parquet
files such as `train-00000-of-00002.parquet`. A `ClassLabel` is a number there, whose name is in
`dataset_info.json` or in the table's metadata; here it is a name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from pyarrow import types

from tailwright.data.formats.columns import FileColumns
from tailwright.data.formats.limits import refuse_special
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.senses import fields_of
from tailwright.data.formats.source import SPLIT_NAMES, empty_file, opened, unreadable
from tailwright.data.formats.table import checked_table, columns_of, whole
from tailwright.errors import InputError, quoted

ALL = "all"  # the split of rows that are not split yet
_FILE_MARK = b"ARROW1"
_SHARD = re.compile(r"(.+)-[0-9]{5}-of-[0-9]{5}\.parquet")
_SPLIT_OF = {name: split for split, names in SPLIT_NAMES.items() for name in names}


def read_arrow(path: Path, options: ReadOptions) -> FileColumns:
    """The rows of an Arrow file; error messages give the row's number as the line."""
    return columns_of_tables([_arrow_table(path)], path, options, {})


def huggingface_files(folder: Path) -> dict[str, list[Path]]:
    """The data files of each split in a folder that `datasets` wrote, or of `all` rows; none for another."""
    if (folder / "dataset_dict.json").is_file():
        file = folder / "dataset_dict.json"
        splits = _names(_json(file).get("splits", []), file)
        found = {split: huggingface_files(folder / split).get(ALL, []) for split in splits}
        if (bare := next((split for split, paths in found.items() if not paths), None)) is not None:
            raise InputError("no data files", expected="at least one", path=folder / bare)
        return {split_of(split, folder): paths for split, paths in found.items()}
    if (folder / "state.json").is_file():
        file = folder / "state.json"
        listed = _json(file).get("_data_files", [])
        if isinstance(listed, list):
            listed = [one.get("filename") if isinstance(one, dict) else one for one in listed]
        return {ALL: [folder / name for name in _names(listed, file)]}
    shards: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")]):
        match = _SHARD.fullmatch(path.name)
        if match is not None:
            shards.setdefault(split_of(match[1], folder), []).append(path)
    return shards


def read_shards(paths: Sequence[Path], options: ReadOptions) -> FileColumns:
    """The rows of files that together are one split."""
    info = paths[0].parent / "dataset_info.json"
    features = _json(info).get("features") or {} if info.is_file() else {}
    if not isinstance(features, dict):
        raise InputError(quoted(features), expected="features by name, as `datasets` writes them", path=info)
    tables = [_parquet_table(path) if path.suffix == ".parquet" else _arrow_table(path) for path in paths]
    return columns_of_tables(tables, paths[0] if len(paths) == 1 else paths[0].parent, options, features)


def columns_of_tables(
    tables: list[pa.Table], path: Path, options: ReadOptions, features: Mapping[str, Any]
) -> FileColumns:
    """The rows of tables that together are one; `features` are those of `datasets`, as JSON."""
    try:
        table = pa.concat_tables(tables)
    except pa.ArrowException as error:
        raise InputError(
            f"files that do not fit ({error})", expected="the same columns", path=path
        ) from error
    fields = fields_of(table.column_names, options, path)
    table = checked_table(table.select([name for name in table.column_names if name in fields.names()]), path)
    names = _class_names({**_features(table), **features}.get(fields.labels))
    if names is not None and not _are_strings(names):
        raise InputError(quoted(names), expected="names of classes", path=path)
    if names:
        place = table.column_names.index(fields.labels)
        table = table.set_column(place, fields.labels, _named(whole(table[fields.labels]), names, path))
    return columns_of(table, path, fields)


def _arrow_table(path: Path) -> pa.Table:
    try:
        with opened(path) as stream:
            data = pa.py_buffer(stream.read() or b"")
        if not len(data):
            raise empty_file(path)
        is_file = bytes(data[: len(_FILE_MARK)]) == _FILE_MARK
        table = pa.ipc.open_file(data).read_all() if is_file else pa.ipc.open_stream(data).read_all()
        list(_field_names(table.schema))
        return table
    # What cannot be decompressed is an OSError; a damaged name is found when Python reads it.
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"no Arrow data ({error})", expected="an Arrow file", path=path) from error


def _field_names(fields: Iterable[pa.Field]) -> Iterator[str]:
    """The names of fields and of those inside them."""
    for field in fields:
        yield field.name
        yield from _field_names(field.type.field(place) for place in range(field.type.num_fields))


def _parquet_table(path: Path) -> pa.Table:
    refuse_special(path)
    try:
        with pa.OSFile(str(path)) as raw:
            return pyarrow.parquet.ParquetFile(raw).read()
    except OSError as error:
        raise unreadable(path, error) from error
    except (pa.ArrowException, UnicodeDecodeError) as error:  # of a damaged name
        raise InputError(f"no Parquet data ({error})", expected="a Parquet file", path=path) from error


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read: {error}", expected="JSON of `datasets`", path=path) from error
    if not isinstance(content, dict):
        raise InputError(quoted(content), expected="an object, as `datasets` writes it", path=path)
    return content


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _names(value: Any, path: Path) -> list[str]:
    """Names that `datasets` lists in a file; none may lead out of its folder."""
    if not _are_strings(value) or not value or any(name in ("", "..") or "/" in name for name in value):
        raise InputError(quoted(value), expected="a list of names, as `datasets` writes it", path=path)
    return list(value)


def split_of(name: str, folder: Path | None = None) -> str:
    """The split that a name stands for."""
    if name not in _SPLIT_OF:
        raise InputError(f"the split {quoted(name)}", expected=f"one of {', '.join(_SPLIT_OF)}", path=folder)
    return _SPLIT_OF[name]


def _features(table: pa.Table) -> dict[str, Any]:
    """The features that `datasets` keeps in the metadata of a table."""
    raw = (table.schema.metadata or {}).get(b"huggingface")
    try:
        features = json.loads(raw)["info"]["features"] if raw else {}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}


def _class_names(feature: Any) -> Any:
    """The names of a `ClassLabel`, or of a list of them."""
    if isinstance(feature, list) and len(feature) == 1:
        return _class_names(feature[0])
    if not isinstance(feature, dict):
        return None
    if feature.get("_type") == "ClassLabel":
        return feature.get("names")
    return _class_names(feature.get("feature"))


def _named(column: pa.Array, names: list[str], path: Path) -> pa.Array:
    """A column of numbers, or of lists of them, with the name of each instead; -1 stands for none."""
    is_list = types.is_list(column.type) or types.is_large_list(column.type)
    values = column.flatten() if is_list else column
    if not types.is_integer(values.type):
        raise InputError(f"classes of type {values.type}", expected="a ClassLabel: numbers", path=path)
    known = pa.array([*names, None], pa.large_string())
    places = pc.if_else(pc.equal(values, -1), len(names), values)
    top = pc.max(places).as_py()
    if top is not None and not 0 <= pc.min(places).as_py() <= top <= len(names):
        raise InputError(f"a class beyond the {len(names)} names", expected="a ClassLabel", path=path)
    taken = known.take(places)
    lengths = pc.fill_null(pc.list_value_length(column), 0) if is_list else taken.is_valid()
    ends = pc.cumulative_sum(lengths.cast(pa.int64()))
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    return pa.LargeListArray.from_arrays(offsets, taken if is_list else taken.drop_null())
