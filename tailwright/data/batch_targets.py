"""The targets of a batch: what its rows are to learn of which labels, in the one form that all losses take.

A pair of row and label is a positive with a target in (0, 1], ignored (it gives no loss), or neither: a
negative with the target 0. A pair that is stored as a positive and as ignored is ignored.

The loss of a pair is multiplied by the weight of its row, and in a made row by the weight of its label too,
where there are label weights.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import CsrArrays, checked, csr_arrays, row_ids
from tailwright.kernels.csr import IGNORED, gather_rows, group_targets


@dataclass(frozen=True, eq=False)
class BatchTargets:
    """The positives and the ignored pairs of each row as CSR, labels ascending within a row."""

    starts: np.ndarray  # (rows + 1,) int64: where each row's positives start
    labels: np.ndarray  # (positives,) int32
    values: np.ndarray  # (positives,) float32 in (0, 1]
    ignored_starts: np.ndarray  # (rows + 1,) int64
    ignored: np.ndarray  # (ignored pairs,) int32: labels
    weights: np.ndarray  # (rows,) float32: the factor on a row's loss
    label_weights: np.ndarray | None = None  # (labels,) float32: the factor on a label's loss in made rows
    made: np.ndarray | None = None  # (rows,) float32: 1 if a row is made, 0 if not, between for a mix of both

    def __post_init__(self) -> None:
        rows = len(self.weights)
        for name, starts, labels in (
            ("labels", self.starts, self.labels),
            ("ignored", self.ignored_starts, self.ignored),
        ):
            if len(starts) != rows + 1 or int(starts[-1]) != len(labels):
                raise ValueError(f"{name} must be CSR of {rows} rows, got {len(starts) - 1}")
        if len(self.values) != len(self.labels):
            raise ValueError(f"values must be as many as labels, {len(self.labels)}, got {len(self.values)}")
        if (self.label_weights is None) != (self.made is None):
            raise ValueError("label_weights and made must be given together")
        if self.made is not None and len(self.made) != rows:
            raise ValueError(f"made must be of {rows} rows, got {len(self.made)}")

    @staticmethod
    def of(data: Dataset) -> BatchTargets:
        """Those of all rows of a dataset."""
        return TargetRows(data)(np.arange(len(data)))

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def rows(self) -> np.ndarray:
        """(positives,) int64: the row of each positive."""
        return rows_of(self.starts)

    @cached_property
    def ignored_rows(self) -> np.ndarray:
        """(ignored pairs,) int64: the row of each ignored pair."""
        return rows_of(self.ignored_starts)

    def label_factors(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(pairs,) float32: the factor that label weights put on the loss of each pair; 1 without them."""
        if self.label_weights is None or self.made is None:
            return np.ones(len(rows), dtype=np.float32)
        made = self.made[rows]
        return (1 - made) + made * self.label_weights[labels]

    def pair_weights(self, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(pairs,) float32: the factor on the loss of each pair."""
        weights = self.weights[rows]
        return weights if self.label_weights is None else weights * self.label_factors(rows, labels)

    def is_learnt(self) -> np.ndarray:
        """(positives,) bool: which positives give a loss, because they are not ignored as well."""
        if not len(self.ignored) or not len(self.labels):
            return np.ones(len(self.labels), dtype=bool)
        width = np.int64(max(self.labels.max(), self.ignored.max())) + 1
        return np.isin(self.rows * width + self.labels, self.ignored_rows * width + self.ignored, invert=True)

    def learnt(self) -> BatchTargets:
        """The same without the positives that are ignored."""
        kept = self.is_learnt()
        if kept.all():
            return self
        starts = starts_of(self.rows[kept], len(self))
        return replace(self, starts=starts, labels=self.labels[kept], values=self.values[kept])

    def binary(self) -> BatchTargets:
        """The same with a target of 1 for all positives."""
        return replace(self, values=np.ones_like(self.values))

    def among(self, labels: np.ndarray) -> BatchTargets:
        """The pairs of these labels (distinct, ascending), each label numbered by its place among them."""
        starts, places, kept = _places(self.starts, self.labels, labels)
        ignored_starts, ignored, _ = _places(self.ignored_starts, self.ignored, labels)
        return BatchTargets(
            starts,
            places,
            self.values[kept],
            ignored_starts,
            ignored,
            self.weights,
            None if self.label_weights is None else self.label_weights[labels],
            self.made,
        )

    def of_groups(self, group_of: np.ndarray, groups: int) -> BatchTargets:
        """The targets of groups of labels; `group_of` (labels,) int32 is -1 for a label in no group.

        A group's target is the largest of its labels' targets that give a loss. A group with ignored labels
        and no such target is ignored: nobody knows whether it is right. A group's label weight is the mean of
        its labels'.
        """
        starts, members, values = group_targets(
            self.starts, self.labels, self.values, self.ignored_starts, self.ignored, group_of, groups
        )
        rows = rows_of(starts)
        order = np.lexsort((members, rows))
        rows, members, values = rows[order], members[order], values[order]
        positive, ignored = values != IGNORED, values == IGNORED
        return BatchTargets(
            starts_of(rows[positive], len(self)),
            members[positive],
            values[positive],
            starts_of(rows[ignored], len(self)),
            members[ignored],
            self.weights,
            group_weights(self.label_weights, group_of, groups),
            self.made,
        )


class TargetRows:
    """Gathers the targets of some rows of a dataset."""

    def __init__(self, data: Dataset) -> None:
        self.labels = data.labels
        self._targets, self._ignored = csr_arrays(data.targets), csr_arrays(data.ignored)
        self._weights = data.weights
        self._label_weights: np.ndarray | None = None
        self._made: np.ndarray | None = None
        if data.label_weights is not None:
            self._label_weights = data.label_weights.copy()  # torch takes no array that is read-only
            self._made = 1 - data.origin.is_original().astype(np.float32)

    def __len__(self) -> int:
        return len(self._weights)

    def __call__(self, rows: np.ndarray) -> BatchTargets:
        """Those of the rows at these places, in that order."""
        ignored_starts, ignored, _ = gather_rows(*self._ignored, rows)
        return BatchTargets(
            *gather_rows(*self._targets, rows),
            ignored_starts,
            ignored,
            self._weights[rows],
            self._label_weights,
            None if self._made is None else self._made[rows],
        )

    def for_kernels(self) -> TargetRows:
        """The same with arrays that kernels are compiled for: what another process sent is read-only."""
        same = copy(self)
        same._targets = _writable(self._targets)
        same._ignored = _writable(self._ignored)
        return same

    def counts(self) -> np.ndarray:
        """(labels,) int64: the rows that carry each label."""
        return np.bincount(self._targets[1], minlength=self.labels)


def _writable(arrays: CsrArrays) -> CsrArrays:
    starts, indices, values = (np.require(array, requirements=["W"]) for array in arrays)
    return starts, indices, values


def of_groups(data: Dataset, group_of: np.ndarray, groups: int) -> Dataset:
    """The rows with groups of labels as their labels, by the rule of `BatchTargets.of_groups`.

    A group is excluded from evaluation if one of its labels is and none of its labels is a target.
    """
    targets = BatchTargets.of(data).of_groups(group_of, groups)
    shape = (len(data), groups)
    positives = sparse.csr_array((targets.values, targets.labels, targets.starts), shape=shape)
    ones = np.ones(len(targets.ignored), dtype=np.float32)
    ignored = sparse.csr_array((ones, targets.ignored, targets.ignored_starts), shape=shape)
    excluded = np.unique(row_ids(data.excluded) * np.int64(groups) + group_of[data.excluded.indices])
    excluded = np.setdiff1d(excluded, targets.rows * np.int64(groups) + targets.labels)
    rows, members = np.divmod(excluded, groups)
    barred = sparse.csr_array((np.ones(len(rows), dtype=np.float32), (rows, members)), shape=shape)
    return replace(
        data,
        targets=checked(positives),
        ignored=checked(ignored),
        excluded=checked(barred),
        label_weights=targets.label_weights,
    )


def group_weights(label_weights: np.ndarray | None, group_of: np.ndarray, groups: int) -> np.ndarray | None:
    """(groups,) float32: the mean label weight of each group of labels, 1 for an empty one; None without.

    >>> group_weights(np.array([0.5, 1.5, 4.0]), np.array([1, 1, -1]), 2).tolist()
    [1.0, 1.0]
    """
    if label_weights is None:
        return None
    grouped = group_of >= 0
    sizes = np.bincount(group_of[grouped], minlength=groups)
    sums = np.bincount(group_of[grouped], label_weights[grouped], minlength=groups)
    return np.where(sizes > 0, sums / np.maximum(sizes, 1), 1).astype(np.float32)


def rows_of(starts: np.ndarray) -> np.ndarray:
    """(entries,) int64: the row of each entry of a CSR matrix whose rows start there."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def starts_of(rows: np.ndarray, count: int) -> np.ndarray:
    """(count + 1,) int64: where each row starts among entries that ascend by row."""
    return np.searchsorted(rows, np.arange(count + 1)).astype(np.int64)


def entries_of(starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The places of the entries of some CSR rows, row after row.

    >>> entries_of(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    counts = np.diff(starts)[rows]
    ends = np.cumsum(counts)
    return np.arange(int(counts.sum())) - np.repeat(ends - counts - starts[rows], counts)


def _places(starts: np.ndarray, labels: np.ndarray, among: np.ndarray) -> CsrArrays:
    """CSR rows with places `among` (ascending) instead of labels, and which entries are among it."""
    places = np.searchsorted(among, labels)
    kept = places < len(among)
    kept[kept] = among[places[kept]] == labels[kept]
    before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
    return before[starts], places[kept].astype(np.int32), kept
