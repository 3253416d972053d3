"""Dense scores: one linear layer from the feature of a text to all labels, in blocks of labels.

The head of classifiers with one vector a text: the first token's state (RoBERTa), those of the last five
layers side by side (LightXML), the bottleneck of a convolutional network (XML-CNN); with lists a row and
without biases, the ranking head of LightXML's groups. Dropout is the caller's: the feature that comes in is
what is multiplied, so that its mask can come from the batch's own stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch

from tailwright.evaluation.ranking import TopK
from tailwright.heads.batch_targets import BatchTargets
from tailwright.heads.block_loss import (
    HeadPass,
    MakePass,
    Mean,
    loss_in_blocks,
    scores_in_blocks,
    sum_precision,
    top_k_in_blocks,
)
from tailwright.heads.columns import Columns
from tailwright.heads.initial import fan_in_uniform, standard_normal, xavier_uniform

Start: TypeAlias = Literal["fan-in", "xavier", "xavier-normal"]

# Numbers of one block's weights or scores, 16 MB.
NUMBERS_A_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class DenseHead:
    """The tensors of the head; for labels in a large table, the rows that a batch needs."""

    weight: torch.Tensor  # (labels, width)
    bias: torch.Tensor | None  # (labels,)

    @staticmethod
    def new(labels: int, width: int, seed: int, name: str, start: Start = "fan-in") -> DenseHead:
        """A layer to start with; `name` is the head's name among streams.

        | start | weights | biases |
        |---|---|---|
        | fan-in | as torch's linear layer (LightXML) | likewise |
        | xavier | Xavier-uniform (LightXML's groups) | none |
        | xavier-normal | Xavier-uniform (the second stage of XDA) | standard normal |
        """
        if start not in get_args(Start):
            raise ValueError(f"start must be one of {', '.join(get_args(Start))}, got {start!r}")
        streams = f"{name}/weight", f"{name}/bias"
        if start == "fan-in":
            return DenseHead(
                fan_in_uniform((labels, width), width, seed, streams[0]),
                fan_in_uniform((labels,), width, seed, streams[1]),
            )
        weight = xavier_uniform((labels, width), seed, streams[0])
        return DenseHead(weight, standard_normal((labels,), seed, streams[1]) if start != "xavier" else None)

    def parts(self, prefix: str) -> Mapping[str, torch.Tensor]:
        """The tensors by name."""
        found = {f"{prefix}.weight": self.weight}
        return found if self.bias is None else {**found, f"{prefix}.bias": self.bias}

    def loss(
        self,
        features: torch.Tensor,
        targets: BatchTargets,
        *,
        candidates: torch.Tensor | None = None,
        mean: Mean = "pairs",
    ) -> torch.Tensor:
        """Binary cross-entropy of texts, features (batch, width).

        `candidates` as in `columns`; `mean` as in `loss_in_blocks`.
        """
        return loss_in_blocks(self._make(candidates), self._tensors(features), targets, mean)

    def scores(self, features: torch.Tensor, candidates: torch.Tensor | None = None) -> torch.Tensor:
        """(batch, columns) without a graph; minus infinity where a list is padded."""
        return scores_in_blocks(self._make(candidates), self._tensors(features))

    def top_k(self, features: torch.Tensor, k: int) -> TopK:
        """The k best labels of each text, equal scores by smaller label."""
        return top_k_in_blocks(self._make(None), self._tensors(features), k)

    def _tensors(self, features: torch.Tensor) -> Sequence[torch.Tensor]:
        return (features, self.weight) if self.bias is None else (features, self.weight, self.bias)

    def _make(self, candidates: torch.Tensor | None) -> MakePass:
        return lambda tensors, wanted: _Pass(tensors, wanted, candidates)


class _Pass(HeadPass):
    def __init__(
        self, tensors: Sequence[torch.Tensor], wanted: Sequence[bool], candidates: torch.Tensor | None
    ) -> None:
        self.features, self.weight = tensors[:2]
        self.bias = tensors[2] if len(tensors) == 3 else None
        rows, width = self.features.shape
        columns = Columns(rows, len(self.weight), candidates)
        a_label = rows * width if columns.own else max(rows, width)
        super().__init__(columns, max(16, NUMBERS_A_BLOCK // max(a_label, 1)), tensors, wanted, (1, 2))

    def scores(self, start: int, end: int) -> torch.Tensor:
        self._place = start, end
        vectors = self.columns.take(self.weight, start, end).to(self.features.dtype)
        self._vectors = vectors
        if self.columns.own:  # (batch, block, width)
            found = torch.bmm(vectors, self.features[..., None]).squeeze(-1)
        else:
            found = torch.mm(self.features, vectors.T)
        found = found.to(sum_precision(self.features.dtype))
        return found if self.bias is None else found.add_(self.columns.take(self.bias, start, end))

    def pull(self, slopes: torch.Tensor) -> None:
        (start, end), into, own = self._place, self.gradients[0], self.columns.own
        rough = slopes.to(self.features.dtype)
        if into is not None:
            into += torch.bmm(rough[:, None], self._vectors).squeeze(1) if own else rough @ self._vectors
        if self.gradients[1] is not None:
            pulled = rough[..., None] * self.features[:, None] if own else rough.T @ self.features
            self.add_to_table(1, start, end, pulled)
        if self.bias is not None:
            self.add_to_table(2, start, end, slopes if own else slopes.sum(0))
