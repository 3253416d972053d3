"""A table of cells, as csv, a workbook or a database gives it, to `FileColumns`; an empty cell holds nothing.

Label cells are left for `cells.split_all`, which looks at all splits together; origin takes two columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.dataset import Origin, no_strings
from tailwright.data.formats.cells import numbers_of
from tailwright.data.formats.columns import ORIGIN_CELLS, Fields, FileColumns, origin_of
from tailwright.data.formats.table import texts_of, whole


def columns_of_cells(
    table: pa.Table, path: Path, fields: Fields, line_of: Callable[[int], int]
) -> FileColumns:
    """The columns of a table of strings; an `InputError` for a cell that should be a number and is none."""

    def cells(name: str | None) -> pa.LargeStringArray | None:
        return whole(table[name]) if name in table.column_names else None

    labels = cells(fields.labels)
    columns = FileColumns(
        path, texts_of(table, fields.texts)[0], no_strings(len(table)) if labels is None else labels, line_of
    )
    return replace(
        columns,
        relevance=cells(fields.relevance),
        weight=_weights(cells(fields.weight), str(fields.weight), columns),
        own=cells("self"),
        exclude=cells("exclude"),
        ignore=cells("ignore"),
        origin=_origin(cells(ORIGIN_CELLS[0]), cells(ORIGIN_CELLS[1]), columns),
        ids=cells(fields.id),
        fields=fields,
    )


def _weights(cells: pa.LargeStringArray | None, name: str, columns: FileColumns) -> np.ndarray | None:
    """The weights, 1 where a cell is empty."""
    if cells is None:
        return None
    given = pc.not_equal(cells, "").to_numpy(zero_copy_only=False)
    weights = np.ones(len(cells))
    numbers = cells.filter(pa.array(given))
    weights[given] = numbers_of(numbers, pa.float64(), name, columns, np.flatnonzero(given).tolist())
    return weights


def _origin(
    rows: pa.LargeStringArray | None, methods: pa.LargeStringArray | None, columns: FileColumns
) -> Origin | None:
    if rows is None or methods is None:
        return None
    numbers = numbers_of(rows, pa.int64(), ORIGIN_CELLS[0], columns, range(len(rows)))
    return origin_of(numbers, methods, columns.path)
