"""The texts of a large Parquet file, decoded into a file that has no name and read from there.

Such a column is an Arrow one as any other, but its pages are the system's to drop and to read again. The file
is in the folder for temporary files, which the environment names (`TMPDIR`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tailwright.data.dataset import text_buffers
from tailwright.data.formats.table import UnusualError, checked_table, texts_of
from tailwright.kernels.room import Pile

LARGE = 1 << 30  # bytes of text: fewer are held in memory
ROWS_A_BATCH = 1 << 16


def has_large_texts(file: pyarrow.parquet.ParquetFile) -> bool:
    """Whether the columns of a file take more than texts may, as most of most corpora is text.

    What is said of a single column may not be asked for: where that is damaged, pyarrow ends the process.
    """
    groups = range(file.metadata.num_row_groups)
    return sum(file.metadata.row_group(number).total_byte_size for number in groups) > LARGE


def mapped_texts(
    file: pyarrow.parquet.ParquetFile, path: Path, names: Sequence[str]
) -> pa.LargeStringArray | None:
    """The text of each row, as `texts_of` gives it; None if there is none in some row, or no strings."""
    with Pile(np.uint8) as values, Pile(np.int64) as ends:
        ends.add(np.zeros(1, np.int64))
        total = 0
        for batch in file.iter_batches(ROWS_A_BATCH, columns=list(names)):
            try:
                texts, null = texts_of(checked_table(pa.Table.from_batches([batch]), path), names)
            except UnusualError:
                return None
            if len(null):
                return None
            bounds, content = text_buffers(texts)
            values.add(content[bounds[0] : bounds[-1]])
            ends.add(bounds[1:] - bounds[0] + total)
            total += int(bounds[-1] - bounds[0])
        buffers = [None, pa.py_buffer(ends.array()), pa.py_buffer(values.array())]
    return pa.Array.from_buffers(pa.large_string(), file.metadata.num_rows, buffers)
