"""Predictions in a file, written block by block: csv, tsv, JSON lines or Parquet, by the name of the file.

| column | holds |
|---|---|
| `id` | the row's own id, if the input has such |
| `text` | the text |
| `labels` | the ids of the labels, best first |
| `names` | their names |
| `scores` | their scores |
| `abstained` | whether the run abstained, if that was asked for |

The file can be read as a corpus. Cells of csv and tsv are delimited as those of a corpus are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, no_strings
from tailwright.data.formats.cells import cell_writer
from tailwright.data.formats.columns import Reference
from tailwright.data.formats.delimited import write_records
from tailwright.data.formats.jsonl import write_objects
from tailwright.data.formats.outgoing import label_references, short_floats
from tailwright.data.formats.row_files import suffix_of
from tailwright.data.formats.source import COMPRESSIONS
from tailwright.data.pairs import pairs_from_lists
from tailwright.data.text_source import TextBlock
from tailwright.errors import InputError
from tailwright.runs.predictions import Predictions
from tailwright.store.whole_file import whole_file

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
BLOCKS_A_GROUP = 32  # that are kept until they are written to a Parquet file


class Labelled(NamedTuple):
    """Some texts and what was said of them."""

    block: TextBlock
    said: Predictions


def refuse_table(path: Path, overwrite: bool) -> None:
    """InputError unless predictions can be written to a file of that name; call it before long work."""
    packed = path.suffix in COMPRESSIONS
    if suffix_of(path) not in SUFFIXES or (packed and suffix_of(path) == ".parquet"):
        expected = f"one of {', '.join(SUFFIXES)}; the former three may end in {' or '.join(COMPRESSIONS)}"
        raise InputError(f"the suffix {path.suffix!r}", expected=expected, path=path)
    if path.exists() and not overwrite:
        raise InputError("exists already", expected="a new file, or --overwrite", path=path)


def write_predictions(path: Path, blocks: Iterable[Labelled], labels: LabelSpace) -> None:
    """Write the whole file or nothing; it is there once all blocks are written."""
    suffix, form = suffix_of(path), Form(labels)
    with whole_file(path) as staged:
        if suffix == ".parquet":
            write_tables(staged, map(form.table, blocks))
        elif suffix == ".jsonl":
            write_objects(staged, (row for block in blocks for row in form.rows(block)))
        else:
            cells = (form.cells(row) for block in blocks for row in form.rows(block))
            write_records(staged, cells, "\t" if suffix == ".tsv" else ",")


@dataclass(frozen=True, eq=False)
class Form:
    """How predictions over these labels are written: references to them, and their cells."""

    labels: LabelSpace

    @cached_property
    def references(self) -> dict[str, Reference]:
        """How a corpus refers to each label, by its id."""
        nothing = Corpus(Dataset(no_strings(0), pairs_from_lists([], len(self.labels))), self.labels)
        return dict(zip(self.labels.ids.to_pylist(), label_references(nothing), strict=True))

    @cached_property
    def writers(self) -> dict[str, Callable[[list[Any]], str]]:
        """How lists of labels and of names become cells that a reader splits again, whatever is predicted."""
        # A row for each label: marks in any name count, also if no text gets two labels.
        count = len(self.labels)
        each = Corpus(
            Dataset(no_strings(count), pairs_from_lists([[i] for i in range(count)], count)), self.labels
        )
        names: list[Reference] = self.labels.names.to_pylist()
        return {
            "labels": cell_writer(each, list(self.references.values())),
            "names": cell_writer(each, names),
            "scores": lambda scores: "|".join(map(repr, scores)),
        }

    def columns(self, labelled: Labelled) -> dict[str, list[Any]]:
        """The columns of a block, by name."""
        (texts, ids), said = labelled
        flat = iter(short_floats(np.array([score for row in said.scores for score in row], dtype=np.float32)))
        columns: dict[str, list[Any]] = {} if ids is None else {"id": ids.to_pylist()}
        columns |= {
            "text": texts.to_pylist(),
            "labels": [[self.references[label] for label in row] for row in said.ids],
            "names": said.names,
            "scores": [list(islice(flat, len(row))) for row in said.scores],
        }
        return columns if said.abstained is None else columns | {"abstained": said.abstained}

    def rows(self, labelled: Labelled) -> Iterator[dict[str, Any]]:
        columns = self.columns(labelled)
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def cells(self, row: dict[str, Any]) -> dict[str, str]:
        """A row with each field as a cell."""
        return {
            name: self.writers[name](value)
            if name in self.writers
            else str(value).lower()
            if isinstance(value, bool)
            else value
            for name, value in row.items()
        }

    def table(self, labelled: Labelled) -> pa.Table:
        integers = all(isinstance(reference, int) for reference in self.references.values())
        kinds = {
            "labels": pa.list_(pa.int64() if integers else pa.large_string()),
            "names": pa.list_(pa.large_string()),
            "scores": pa.list_(pa.float32()),
            "abstained": pa.bool_(),
        }
        columns = self.columns(labelled).items()
        return pa.table(
            {name: pa.array(values, kinds.get(name, pa.large_string())) for name, values in columns}
        )


def write_tables(path: Path, tables: Iterator[pa.Table]) -> None:
    """A file with a row group for each few tables; there is at least one."""
    first = next(tables)
    with pyarrow.parquet.ParquetWriter(path, first.schema, compression="zstd") as writer:
        group = [first]
        while group:
            group += islice(tables, BLOCKS_A_GROUP - len(group))
            writer.write_table(pa.concat_tables(group))
            group = list(islice(tables, 1))
