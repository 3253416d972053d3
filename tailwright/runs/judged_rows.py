"""The rows that `evaluate` judges a run on, over the labels of the run, wherever they come from."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy import sparse

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import PAIR_COLUMNS, Dataset
from tailwright.data.formats.resolve import BLANK, UNKNOWN, LabelIndex, once
from tailwright.data.inputs import ReadArguments, Source, is_path
from tailwright.data.pairs import pairs_from_arrays, row_ids
from tailwright.errors import InputError, quoted
from tailwright.runs.asked import corpus_of

log = logging.getLogger(__name__)


def rows_to_judge(labels: LabelSpace, data: Dataset | Source, seed: int, reading: ReadArguments) -> Dataset:
    """A dataset as it is; the test rows of a corpus, a path or tables by split; all rows of anything else.

    Labels are found by name or by id. Those that the run does not know are left out, which a warning says, or
    refused if reading is `strict`.
    """
    if isinstance(data, Dataset):
        if reading:
            raise InputError(f"found a Dataset and {', '.join(reading)}", expected="the Dataset alone")
        return data
    corpus = corpus_of(data, seed, reading)
    is_split = is_path(data) or isinstance(data, Corpus | Mapping)
    rows = corpus.test if is_split else corpus.train
    if rows is None:
        expected = "a test split, or one of the others, such as corpus.train"
        raise InputError("found no test rows", expected=expected, path=corpus.source or None)
    if corpus.labels.ids.equals(labels.ids):
        return rows
    columns = columns_in(labels, corpus.labels)
    unknown = columns[rows.targets.indices] == BLANK
    if unknown.any():
        first = int(np.flatnonzero(unknown)[0])
        count = len(np.unique(rows.targets.indices[unknown]))
        name = quoted(corpus.labels.names[int(rows.targets.indices[first])].as_py())
        found = f"found {count:,} labels that the run does not know, the first {name}"
        found += f" in row {int(row_ids(rows.targets)[first])}"
        if reading.get("strict"):
            raise InputError(found, expected=f"some of its {len(labels):,} labels")
        log.warning("%s: left out of %s pairs", found, f"{np.count_nonzero(unknown):,}")
    pairs = {name: over_columns(getattr(rows, name), columns, len(labels)) for name in PAIR_COLUMNS}
    return replace(rows, label_weights=None, **pairs)  # these count in training alone


def columns_in(labels: LabelSpace, given: LabelSpace) -> np.ndarray:
    """(given labels,) the column of the label of the same name, or else of the same id; `BLANK` for none."""
    index, by_id = LabelIndex(labels), labels.index_of_id
    found = [index.column_of(name) for name in given.names.to_pylist()]
    columns = [
        by_id.get(label, BLANK) if column == UNKNOWN else column
        for label, column in zip(given.ids.to_pylist(), found, strict=True)
    ]
    return np.array(columns, dtype=np.int64)


def over_columns(pairs: sparse.csr_array, columns: np.ndarray, labels: int) -> sparse.csr_array:
    """(rows, labels): the same pairs with each label in its column; those without one are left out."""
    moved = columns[pairs.indices]
    kept, offsets, _ = once(moved, row_ids(pairs), pairs.data, pairs.shape[0])
    return pairs_from_arrays(pairs.data[kept], moved[kept], offsets, labels)
