"""The mix points inside a head: mixed activations of a block of labels, replaced context vectors of pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from tailwright.data.batch_targets import BatchTargets, starts_of
from tailwright.encoders.mixing import Mixing, mixed_at
from tailwright.heads.columns import Columns


class BlockMixing:
    """Passes the activations of a block through a mixing, and their gradient back.

    The gradient is the one that torch finds through the mixing, so a method states its forward step alone.
    """

    def __init__(self, mixing: Mixing | None, *, learns: bool) -> None:
        self._mixing, self._learns = mixing, learns
        self._graph: tuple[torch.Tensor, torch.Tensor] | None = None

    def forward(self, point: str, activations: torch.Tensor) -> torch.Tensor:
        """The activations (rows, block, width), mixed if that is the mixing's point."""
        if self._mixing is None or self._mixing.point != point:
            return activations
        self._graph = None
        leaf = activations.detach().requires_grad_(self._learns)
        with torch.set_grad_enabled(self._learns):
            mixed, _ = mixed_at(point, self._mixing, leaf)
        if mixed is leaf:
            return activations
        if mixed.shape != leaf.shape:
            raise ValueError(
                f"mixed activations at {point!r} must be {tuple(leaf.shape)}, got {tuple(mixed.shape)}"
            )
        self._graph = leaf, mixed
        return mixed.detach()

    def backward(self, point: str, gradient: torch.Tensor) -> torch.Tensor:
        """The gradient of the activations, given that of what `forward` made of them."""
        if self._graph is None or self._mixing is None or self._mixing.point != point:
            return gradient
        leaf, mixed = self._graph
        (unmixed,) = torch.autograd.grad(mixed, leaf, gradient)
        return unmixed.contiguous()


def with_values(
    targets: BatchTargets, labels: int, rows: np.ndarray, of_labels: np.ndarray, values: np.ndarray
) -> BatchTargets:
    """The targets over so many labels with other values of some pairs, 0 for a negative."""
    keys = targets.rows * np.int64(labels) + targets.labels
    changed = rows * np.int64(labels) + of_labels
    kept = np.isin(keys, changed, invert=True)
    positive = values > 0
    keys = np.concatenate([keys[kept], changed[positive]])
    order = np.argsort(keys, kind="stable")
    new_rows, new_labels = np.divmod(keys[order], labels)
    return replace(
        targets,
        starts=starts_of(new_rows, len(targets)),
        labels=new_labels.astype(np.int32),
        values=np.concatenate([targets.values[kept], values[positive]])[order],
    )


def without_pairs(
    targets: BatchTargets, columns: Columns, rows: np.ndarray, labels: np.ndarray
) -> tuple[BatchTargets, np.ndarray]:
    """The targets with these pairs ignored, and (pairs,) int64: which of the pairs gave a loss before.

    Those do that are not ignored in the targets and are among their row's candidates; a label of -1 is not.
    """
    places = np.flatnonzero(labels >= 0)
    places = places[columns.find(rows[places], labels[places]) >= 0]
    width = max(columns.labels, 1)
    keys = rows[places] * width + labels[places]
    ignored = targets.ignored_rows * width + targets.ignored
    places = places[np.isin(keys, ignored, invert=True)]
    both = np.union1d(ignored, rows[places] * width + labels[places])
    ignored_rows, ignored_labels = np.divmod(both, width)
    ignored_starts = starts_of(ignored_rows, len(targets))
    return replace(targets, ignored_starts=ignored_starts, ignored=ignored_labels.astype(np.int32)), places
