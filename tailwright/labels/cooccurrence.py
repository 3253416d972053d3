"""How often two labels share a row: `targets.T @ targets`, a block of labels at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse


def cooccurrence_blocks(
    targets: sparse.sparray, block: int = 8192, binary: bool = False, diagonal: bool = True
) -> Iterator[tuple[int, sparse.csr_array]]:
    """(first label, rows of `targets.T @ targets` for it and the labels after it), block by block.

    Takes the memory of two copies of `targets` and one block of rows. `binary` counts rows, whatever their
    soft values; `diagonal=False` leaves out each label's own count. Sums are float64, so counts are exact.

    >>> (_, rows), = cooccurrence_blocks(sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1]])))
    >>> rows.toarray().tolist()
    [[1.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 1.0]]
    """
    if block < 1:
        raise ValueError(f"block must be >= 1, got {block}")
    by_row = sparse.csr_array(targets, dtype=np.float64, copy=True)
    by_row.sum_duplicates()
    by_row.eliminate_zeros()
    if binary:
        by_row.data[:] = 1.0
    by_label = by_row.T.tocsr()
    for start in range(0, by_label.shape[0], block):
        rows = by_label[start : start + block] @ by_row
        rows.sort_indices()
        yield start, rows if diagonal else _without_diagonal(rows, start)


def _without_diagonal(rows: sparse.csr_array, start: int) -> sparse.csr_array:
    owner = np.repeat(np.arange(start, start + rows.shape[0]), np.diff(rows.indptr))
    kept = rows.indices != owner
    indptr = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return sparse.csr_array((rows.data[kept], rows.indices[kept], indptr), shape=rows.shape)
