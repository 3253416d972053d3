"""Rankings: the best k labels of each row from sparse or dense scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.errors import NoNumberError
from tailwright.kernels.ranking import top_k

PADDING = -1


@dataclass(frozen=True, eq=False)
class TopK:
    """The best k labels of each row, best first."""

    ids: np.ndarray  # (rows, k) int32, -1 where a row has fewer than k
    scores: np.ndarray  # (rows, k) float32, minus infinity there

    def __post_init__(self) -> None:
        ids, scores = np.asarray(self.ids), np.asarray(self.scores)
        if ids.ndim != 2 or ids.dtype.kind not in "iu":
            raise ValueError(f"ids must be integers (rows, k), got {ids.dtype} {ids.shape}")
        if scores.shape != ids.shape:
            raise ValueError(f"scores has shape {scores.shape}, expected {ids.shape}")
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "scores", scores.astype(np.float32, copy=False))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def k(self) -> int:
        return int(self.ids.shape[1])

    @staticmethod
    def concat(blocks: Sequence[TopK]) -> TopK:
        """The rows of all blocks, in order."""
        return TopK(np.concatenate([b.ids for b in blocks]), np.concatenate([b.scores for b in blocks]))


def top_k_of_scores(
    scores: sparse.sparray | sparse.spmatrix | np.ndarray, k: int, excluded: sparse.sparray | None = None
) -> TopK:
    """The k best labels of each row: higher scores first, among equal scores the smaller id.

    Of a sparse matrix only stored entries are ranked, stored zeros included; of a dense one, every column.
    Minus infinity is a score like any other. `excluded` pairs are removed before the k are counted, so a row
    still gets k labels if it has them. NaN is refused.

    >>> block = np.array([[0.2, 0.9, 0.9, 0.1]], dtype=np.float32)
    >>> top_k_of_scores(block, 2).ids.tolist()
    [[1, 2]]
    >>> top_k_of_scores(block, 2, excluded=sparse.csr_array(np.array([[0, 1, 0, 0]]))).ids.tolist()
    [[2, 0]]
    """
    if k < 1:
        raise ValueError(f"k must be >= 1, got {k}")
    if not sparse.issparse(scores):
        scores = np.asarray(scores)
    if scores.ndim != 2:
        raise ValueError(f"scores must be (rows, labels), got shape {scores.shape}")
    rows, labels = scores.shape
    if labels >= 2**31:
        raise ValueError(f"scores has {labels} labels, expected fewer than 2**31")
    # Ranked in the given precision: rounding float64 to float32 first would create ties.
    precision = np.float32 if scores.dtype in (np.float32, np.float16) else np.float64
    ids = np.full((rows, k), PADDING, dtype=np.int32)
    best = np.full((rows, k), -np.inf, dtype=precision)
    has_nan = np.zeros(rows, dtype=bool)
    if sparse.issparse(scores):
        stored = canonical(scores, "scores")
        indptr, indices, data = stored.indptr, stored.indices, stored.data
    else:
        indptr, indices, data = np.arange(rows + 1) * labels, np.empty(0), scores.reshape(-1)
    entries = for_kernel(indptr, np.int64), for_kernel(indices, np.int32), for_kernel(data, precision)
    top_k(*entries, *excluded_arrays(excluded, (rows, labels)), ids, best, has_nan)
    if has_nan.any():
        raise NoNumberError(f"row {int(np.argmax(has_nan))} has a score that is NaN")
    return TopK(ids, best)


def canonical(matrix: sparse.sparray | sparse.spmatrix, name: str) -> sparse.csr_array:
    """`matrix` as CSR with sorted indices; a pair that is stored twice is refused."""
    csr = sparse.csr_array(matrix)
    if not csr.has_sorted_indices:
        csr = csr.sorted_indices()
    if not csr.has_canonical_format:
        raise ValueError(f"{name} stores the same label twice in a row")
    return csr


def excluded_arrays(excluded: sparse.sparray | None, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """(indptr, sorted indices) of the pairs to leave out; stored zeros do not count."""
    if excluded is None:
        return np.zeros(shape[0] + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    if excluded.shape != shape:
        raise ValueError(f"excluded has shape {excluded.shape}, expected {shape}")
    pairs = canonical(excluded, "excluded")
    if not np.all(pairs.data):
        pairs = pairs.copy()
        pairs.eliminate_zeros()
    return for_kernel(pairs.indptr, np.int64), for_kernel(pairs.indices, np.int32)


def for_kernel(array: np.ndarray, dtype: type) -> np.ndarray:
    """`array` as the one type a kernel is compiled for; read-only, which is another type, is copied."""
    return np.require(array, dtype, ["C", "W"])
