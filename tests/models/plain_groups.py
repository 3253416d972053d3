"""The grouped head of lightxml in plain words: a row at a time, a label at a time, dense targets."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from tailwright.models.lightxml.network import GroupedHead


def plain_chosen(scores: np.ndarray, top: int, true: set[int]) -> list[int]:
    """The groups that a row with scores (groups,) is matched with."""
    others = sorted((group for group in range(len(scores)) if group not in true), key=lambda g: -scores[g])
    return sorted([*true, *others[: max(top - len(true), 0)]])


def plain_loss(
    head: GroupedHead,
    features: torch.Tensor,
    table: torch.Tensor,
    targets: np.ndarray,
    ignored: np.ndarray,
    weights: np.ndarray,
) -> torch.Tensor:
    """The loss of features (rows, width) whose targets and ignored pairs are dense (rows, labels)."""
    of_label, total = head.groups.of_label, torch.zeros(())
    for row, feature in enumerate(features):
        learnt = targets[row] * ~ignored[row]
        of_groups = np.zeros(head.groups.count, dtype=np.float32)
        silent = np.zeros(head.groups.count, dtype=bool)
        for label, group in enumerate(of_label):
            if group >= 0:
                of_groups[group] = max(of_groups[group], learnt[label])
                silent[group] |= ignored[row, label]
        silent &= of_groups == 0
        logits = head.recall.weight @ feature + head.recall.bias
        chosen = plain_chosen(
            logits.detach().numpy(), head.settings.top_groups, set(np.flatnonzero(of_groups))
        )
        total = total + weights[row] * _mean(logits, of_groups, silent)
        candidates = [label for label, group in enumerate(of_label) if group in chosen]
        hidden = head.bottleneck.weight @ feature + head.bottleneck.bias
        scores = table[candidates] @ hidden
        total = total + weights[row] * _mean(scores, targets[row, candidates], ignored[row, candidates])
    return total / len(features)


def _mean(logits: torch.Tensor, targets: np.ndarray, silent: np.ndarray) -> torch.Tensor:
    each = binary_cross_entropy_with_logits(
        logits, torch.from_numpy(targets.astype(np.float32)), reduction="none"
    )
    return (each * torch.from_numpy(~silent)).sum() / max(len(logits), 1)
