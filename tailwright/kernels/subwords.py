"""The pieces of the words of rows."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def pieces_of_rows(
    ids: np.ndarray,
    offsets: np.ndarray,
    first: int,
    last: int,
    piece_ends: np.ndarray,
    pieces: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """(pieces int32, offsets int64) of rows first..last - 1, in the order of their words.

    Row i has the words `ids[offsets[i]:offsets[i + 1]]`, word w the pieces
    `pieces[piece_ends[w]:piece_ends[w + 1]]`; negative pieces are kept.
    """
    starts = np.zeros(last - first + 1, np.int64)
    for row in range(first, last):
        count = 0
        for at in range(offsets[row], offsets[row + 1]):
            count += piece_ends[ids[at] + 1] - piece_ends[ids[at]]
        starts[row - first + 1] = starts[row - first] + count
    row_pieces = np.empty(starts[-1], np.int32)
    place = 0
    for at in range(offsets[first], offsets[last]):
        for p in range(piece_ends[ids[at]], piece_ends[ids[at] + 1]):
            row_pieces[place] = pieces[p]
            place += 1
    return row_pieces, starts


@njit(cache=True, nogil=True)
def put_side_by_side(
    left_indptr: np.ndarray,
    left_indices: np.ndarray,
    left_data: np.ndarray,
    first: int,
    right_indices: np.ndarray,
    right_data: np.ndarray,
    right_ends: np.ndarray,
    shift: int,
    scale: np.float32,
    indices: np.ndarray,
    data: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Fill a block of a CSR matrix: rows of the left matrix from `first` on, and `scale` times the right one.

    Columns of the right matrix are shifted by `shift`.
    """
    at, done = 0, 0
    for row in range(len(right_ends)):
        for p in range(left_indptr[first + row], left_indptr[first + row + 1]):
            indices[at], data[at] = left_indices[p], left_data[p]
            at += 1
        for p in range(done, right_ends[row]):
            indices[at], data[at] = right_indices[p] + shift, right_data[p] * scale
            at += 1
        done = right_ends[row]
        ends[row] = at
