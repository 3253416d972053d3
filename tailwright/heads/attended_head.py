"""`AttendedHead`: what heads on label attention have in common: a loss, scores and rankings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import torch

from tailwright.evaluation.ranking import TopK
from tailwright.heads.batch_targets import BatchTargets
from tailwright.heads.block_loss import (
    HeadPass,
    MakePass,
    Mean,
    loss_in_blocks,
    scores_in_blocks,
    top_k_in_blocks,
)


class AttendedHead(ABC):
    """A head that reads hidden (batch, tokens, width) where mask (batch, tokens) bool has a token."""

    @abstractmethod
    def parts(self, prefix: str) -> Mapping[str, torch.Tensor]:
        """The tensors by name."""

    @abstractmethod
    def tensors(self) -> Sequence[torch.Tensor]:
        """The head's own tensors in the order in which `work` takes them."""

    @abstractmethod
    def work(
        self,
        tensors: Sequence[torch.Tensor],
        wanted: Sequence[bool],
        mask: torch.Tensor,
        candidates: torch.Tensor | None,
    ) -> HeadPass:
        """The head at work on a batch: `tensors` are the hidden states, then its own."""

    def loss(
        self,
        hidden: torch.Tensor,
        mask: torch.Tensor,
        targets: BatchTargets,
        *,
        candidates: torch.Tensor | None = None,
        mean: Mean = "pairs",
    ) -> torch.Tensor:
        """Binary cross-entropy; `candidates` as in `columns`, `mean` as in `loss_in_blocks`."""
        return loss_in_blocks(self._make(mask, candidates), [hidden, *self.tensors()], targets, mean)

    def scores(
        self, hidden: torch.Tensor, mask: torch.Tensor, candidates: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(batch, columns) without a graph; minus infinity where a list is padded."""
        return scores_in_blocks(self._make(mask, candidates), [hidden, *self.tensors()])

    def top_k(self, hidden: torch.Tensor, mask: torch.Tensor, k: int) -> TopK:
        """The k best labels of each text, equal scores by smaller label."""
        return top_k_in_blocks(self._make(mask, None), [hidden, *self.tensors()], k)

    def _make(self, mask: torch.Tensor, candidates: torch.Tensor | None) -> MakePass:
        return lambda tensors, wanted: self.work(tensors, wanted, mask, candidates)
