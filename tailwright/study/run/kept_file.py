"""Kept outcomes: the files that outcomes travel in, small enough for a repository, and read with suspicion.

| in the folder | holds |
|---|---|
| `cells/ASKED.parquet` | one outcome: a row for each test row with its best labels; all else as JSON in the file's metadata |
| `counts/DIGEST.parquet` | training rows of each label without and with added rows, once for all cells that share them |

ASKED is a digest of the cell and its data, without the version of the code, so a later version finds it. Neither the trained run
nor any path of the machine is kept. The same outcome gives the same bytes.
"""  # noqa: E501 (a table)

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailwright.errors import InputError, quoted
from tailwright.store.errors import (
    DamagedFolderError,
    errors_of_content,
    errors_of_reading,
    errors_of_writing,
)
from tailwright.store.strict_json import decode, encode
from tailwright.store.whole_file import whole_file
from tailwright.study.plan.cells import Cell, cell_from
from tailwright.study.run.outcomes import Made, Outcome, checked_result, result_of

FORMAT = 1
FACTS, DIGEST = b"tailwright.outcome", b"tailwright.sha256"
_LABELS = pa.schema([("labels", pa.list_(pa.int32()))])
_COUNTS = pa.schema([("counts", pa.int64()), ("augmented_counts", pa.float64())])
# Bytes of equal significance side by side: rankings take two thirds of what they take otherwise.
_SPLIT = {"labels": "labels.list.element", "augmented_counts": "augmented_counts"}
_SHA256 = re.compile("[0-9a-f]{64}")
_LARGEST_FACTS = 16 << 20


@dataclass(frozen=True)
class Facts:
    """All of a kept outcome but its arrays."""

    path: Path
    cell: Cell  # without paths
    made: Made
    counts: str  # the name of the file with its counts
    digest: str  # of everything, arrays included
    values: Mapping[str, Any]  # as they stand in the file


def place_of(folder: Path, name: str) -> Path:
    return folder / "cells" / f"{name}.parquet"


def write_kept(outcome: Outcome, made: Made, folder: Path) -> bool:
    """Keep an outcome in the folder, instead of what it has of the same cell; False if it has this one."""
    arrays = _digest(b"", outcome.counts.astype("<i8"), outcome.augmented_counts.astype("<f8"))
    facts = {
        "format": FORMAT,
        "cell": _without_paths(outcome.cell).as_dict(),
        "result": result_of(replace(outcome, key=made.key, made=made)),
        "log": [event for event in outcome.log if _is_strict(event)],
        "counts": arrays,
        "shape": list(outcome.top.shape),
    }
    raw = encode(facts, indent=None)
    digest = _digest(raw, outcome.top.astype("<i4"))
    path = place_of(folder, outcome.cell.asked(made.data))
    counts_path = folder / "counts" / f"{arrays}.parquet"
    if path.is_file() and counts_path.is_file():
        with suppress(InputError):  # a damaged one is replaced
            if read_facts(path).digest == digest:
                return False
    if not counts_path.is_file():
        columns = [pa.array(outcome.counts, pa.int64()), pa.array(outcome.augmented_counts, pa.float64())]
        _write(counts_path, pa.Table.from_arrays(columns, schema=_COUNTS))
    offsets = np.arange(len(outcome.top) + 1, dtype=np.int32) * outcome.top.shape[1]
    labels = pa.ListArray.from_arrays(offsets, pa.array(outcome.top.ravel(), pa.int32()))
    table = pa.Table.from_arrays([labels], schema=_LABELS)
    _write(path, table, {FACTS: raw, DIGEST: digest.encode()})
    return True


def read_facts(path: Path) -> Facts:
    """What a kept outcome says of itself; damage, or a name that is not its own, is one clear error."""
    with errors_of_reading(path), errors_of_content(path):
        metadata = _opened(path).metadata.metadata or {}
        raw = metadata.get(FACTS, b"")
        if not raw or len(raw) > _LARGEST_FACTS:
            raise InputError("found no outcome", expected="a file that `tailwright study --keep` wrote")
        values = decode(raw)
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            found = values.get("format") if isinstance(values, dict) else values
            raise InputError(f"found the format {quoted(found)}", expected=f"format {FORMAT} of outcomes")
        cell, made = cell_from(values["cell"]), checked_result(values["result"], path)["made"]
        if made is None or cell.asked(made.data) != path.stem:
            raise InputError("found another cell", expected="the one that the file is named after")
        if not _SHA256.fullmatch(str(values["counts"])):
            raise InputError(f"found the counts {quoted(values['counts'])}", expected="the name of a file")
        return Facts(path, cell, made, values["counts"], metadata[DIGEST].decode(), values)


def read_kept(facts: Facts, rows: int, width: int, labels: int) -> Outcome:
    """The outcome itself, whose ranking must be (rows, width) over so many labels."""
    path, values = facts.path, facts.values
    with errors_of_reading(path), errors_of_content(path):
        if values["shape"] != [rows, width]:
            raise InputError(f"found a ranking of {values['shape']}", expected=f"{[rows, width]}")
        column = _column(path, _LABELS, rows, rows * width)[0]
        lists = pa.compute.list_value_length(column)
        if column.null_count or set(np.unique(lists)) - {width}:
            raise InputError("found rows of other lengths", expected=f"{width} labels each")
        top = column.flatten().to_numpy().reshape(rows, width)
        if _digest(encode(values, indent=None), top) != facts.digest:
            raise InputError("found other bytes", expected=f"sha256 {facts.digest[:12]}…")
        _check_ranking(top, labels)
        counts, augmented = _read_counts(path.parent.parent / "counts" / f"{facts.counts}.parquet", labels)
        return Outcome(
            cell=facts.cell,
            top=top,
            counts=counts,
            augmented_counts=augmented,
            log=_checked_log(values["log"]),
            taken=True,
            **checked_result(values["result"], path),
        )


def remove_unused_counts(folder: Path) -> None:
    """Remove counts that no kept outcome names any more."""
    used = {read_facts(path).counts for path in (folder / "cells").glob("*.parquet")}
    for path in (folder / "counts").glob("*.parquet"):
        if path.stem not in used:
            path.unlink(missing_ok=True)


def _without_paths(cell: Cell) -> Cell:
    return replace(cell, path="", ensemble=tuple(map(_without_paths, cell.ensemble)))


def _is_strict(event: Mapping[str, Any]) -> bool:
    """Whether JSON can hold it: the loss of a training that diverged is no number."""
    try:
        encode(event)
    except (TypeError, ValueError):
        return False
    return True


def _digest(raw: bytes, *arrays: np.ndarray) -> str:
    digest = hashlib.sha256(raw)
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _write(path: Path, table: pa.Table, facts: Mapping[bytes, bytes] | None = None) -> None:
    split = {_SPLIT[name]: "BYTE_STREAM_SPLIT" for name in table.column_names if name in _SPLIT}
    with errors_of_writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with (
        whole_file(path) as staged,
        pq.ParquetWriter(
            staged,
            table.schema,
            compression="zstd",
            compression_level=19,
            use_dictionary=[name for name in table.column_names if name not in _SPLIT],
            column_encoding=split,
            store_schema=False,
            write_statistics=False,
            write_page_checksum=True,
        ) as writer,
    ):
        writer.write_table(table, row_group_size=max(len(table), 1))
        writer.add_key_value_metadata(facts or {})


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise DamagedFolderError("is no Parquet file, or a damaged one", path=path) from error


def _check_chunks(file: pq.ParquetFile, path: Path) -> None:
    """Begin to read each: asked for the numbers of a damaged chunk, pyarrow ends the process."""
    try:
        for number in range(file.metadata.num_row_groups):
            next(file.iter_batches(1, row_groups=[number]), None)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFolderError("has damaged columns", path=path) from error


def _column(path: Path, schema: pa.Schema, rows: int, values: int) -> list[pa.Array]:
    """The columns of a file that must have this schema and so many rows and values."""
    file = _opened(path)
    _check_chunks(file, path)
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    sizes = {sum(group.column(n).num_values for group in groups) for n in range(file.metadata.num_columns)}
    found = file.schema_arrow.remove_metadata()
    if [(one.name, one.type) for one in found] != [(one.name, one.type) for one in schema]:
        raise InputError(f"found the columns {quoted(found.names)}", expected=f"{schema.names}")
    if file.metadata.num_rows != rows or sizes - {values}:
        raise InputError(f"found {file.metadata.num_rows:,} rows", expected=f"{rows:,}")
    try:
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise DamagedFolderError("has damaged pages", path=path) from error
    return [column.combine_chunks() for column in table.columns]


def _read_counts(path: Path, labels: int) -> tuple[np.ndarray, np.ndarray]:
    with errors_of_reading(path), errors_of_content(path):
        columns = _column(path, _COUNTS, labels, labels)
        counts, augmented = (column.to_numpy(zero_copy_only=False) for column in columns)
        if any(column.null_count for column in columns) or _digest(b"", counts, augmented) != path.stem:
            raise InputError("found other bytes", expected="those that the file is named after")
        if (counts < 0).any() or not np.isfinite(augmented).all() or (augmented < 0).any():
            raise InputError("found counts below 0, or no numbers", expected="training rows of labels")
        return counts, augmented


def _check_ranking(top: np.ndarray, labels: int) -> None:
    """Labels of the corpus, each once in a row, and -1 only behind the last."""
    if top.min(initial=0) < -1 or top.max(initial=-1) >= labels:
        raise InputError("found a label that is none", expected=f"numbers from -1 to {labels - 1:,}")
    if ((top[:, :-1] < 0) & (top[:, 1:] >= 0)).any():
        raise InputError("found a label behind the last", expected="-1 to the end of the row")
    in_order = np.sort(top, axis=1)
    if ((in_order[:, :-1] == in_order[:, 1:]) & (in_order[:, 1:] >= 0)).any():
        raise InputError("found a label twice in one row", expected="each once")


def _checked_log(log: Any) -> tuple[Mapping[str, Any], ...]:
    """Events as trainings log them: curves are drawn out of epochs."""
    if not isinstance(log, list):
        raise InputError(f"found the log {quoted(log)}", expected="a list of events")
    for event in log:
        known = isinstance(event, dict) and _is_number(event.get("time")) and type(event.get("event")) is str
        if known and event["event"] in {"epoch", "validation"}:
            figures = [event[name] for name in ("loss", "valid") if name in event]
            watched = event.get("watched") or {}
            known = type(event.get("phase")) is str and type(event.get("epoch")) is int
            known = known and isinstance(watched, dict)
            known = known and all(map(_is_number, [*figures, *watched.values()]))
        if not known:
            raise InputError(f"found {quoted(event)} in the log", expected="an event of a training")
    return tuple(log)


def _is_number(value: Any) -> bool:
    return type(value) in {int, float}
