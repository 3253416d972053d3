"""Batches of rows of similar length, padded to their own longest row: little of what is computed is padding.

| for | use | gives |
|---|---|---|
| training | `bucketed_order` | the rows of an epoch; each `batch` of them in turn are of similar length |
| prediction | `chunks`, then `put_back` | groups, the longest rows first; results in the order of the rows |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tailwright.data.text.sequences import TokenBatch
from tailwright.streams import stream

JITTER = 0.05  # of a length, so that rows of nearly the same length meet others in each epoch


def bucketed_order(lengths: np.ndarray, batch: int, seed: int, phase: str, epoch: int) -> np.ndarray:
    """All rows, such that each `batch` of them in turn are of similar length; the batches in random order.

    A batch of fewer rows than the others, if there is one, comes last.
    """
    random = stream(seed, f"{phase}/order", epoch)
    jittered = lengths * random.uniform(1 - JITTER, 1 + JITTER, len(lengths))
    rows = np.lexsort((random.random(len(lengths)), jittered))
    full = len(rows) // batch
    # The short batch takes rows from anywhere, else it were always the longest ones.
    left = np.sort(random.permutation(len(rows))[: len(rows) - full * batch])
    whole = np.delete(rows, left).reshape(full, batch)
    return np.concatenate([random.permutation(whole).reshape(-1), rows[left]])


def chunks(lengths: np.ndarray, most: int, most_rows: int | None = None) -> list[np.ndarray]:
    """Places of these rows in groups of at most `most` tokens when padded, or of one row.

    `most_rows` bounds a group's rows as well, for whatever is as large as rows x labels.
    """
    order = np.argsort(-lengths, kind="stable")
    found, start = [], 0
    while start < len(order):
        count = max(most // max(int(lengths[order[start]]), 1), 1)
        if most_rows is not None:
            count = min(count, most_rows)
        found.append(order[start : start + count])
        start += count
    return found


def put_back(groups: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> np.ndarray:
    """The results of the groups, whose first axis is their rows, as one array in the order of the rows.

    >>> put_back([np.array([2, 0]), np.array([1])], [np.array([7, 5]), np.array([6])]).tolist()
    [5, 6, 7]
    """
    together = np.concatenate(results)
    ordered = np.empty_like(together)
    ordered[np.concatenate(groups)] = together
    return ordered


def batch_tensors(batch: TokenBatch, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """(ids (rows, tokens) int64, mask (rows, tokens) bool: True where a token is and no padding)."""
    ids = torch.from_numpy(batch.ids.astype(np.int64))
    return ids.to(device), torch.from_numpy(batch.inside).to(device)
