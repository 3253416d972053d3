"""The dense head: one linear layer from the feature of a text to all labels.

For classifiers with one vector a text: the first token's state (RoBERTa), those of the last five layers side
by side (LightXML), the bottleneck of a convolutional network (XML-CNN); sparse and without biases, LightXML's
ranking head over the candidates of each text. Dropout is the caller's, whose batch has a stream for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.heads.block_loss import sum_dtype
from tailwright.heads.block_pass import BlockPass, HeadBatch
from tailwright.heads.blockwise import BlockwiseHead
from tailwright.heads.initial import fan_in_uniform, xavier_uniform
from tailwright.heads.shards import LabelShard

Start: TypeAlias = Literal["fan-in", "xavier"]

# Numbers of one block's weights or logits, 16 MB.
NUMBERS_A_BLOCK = 2**22


class DenseHead(BlockwiseHead):
    """The logits are features (batch, width) times `weight` (labels, width), plus `bias` (labels,)."""

    def __init__(
        self,
        labels: int,
        width: int,
        *,
        seed: int,
        name: str,
        start: Start = "fan-in",
        bias: bool = True,
        sparse: bool = False,
        part: LabelShard | None = None,
    ) -> None:
        """`name` is the stream of the weights; with biases, `name`/weight and `name`/bias are.

        `start` "fan-in" draws as torch's linear layer does, "xavier" Xavier-uniform weights. Of a head that
        is one `part`, the weights are what the whole head has for these labels.
        """
        super().__init__(labels if part is None else len(part), sparse=sparse)
        if start not in get_args(Start):
            raise ValueError(f"start must be one of {', '.join(get_args(Start))}, got {start!r}")
        stream = f"{name}/weight" if bias else name
        if start == "fan-in":
            weight = fan_in_uniform((labels, width), width, seed, stream, part)
        else:
            weight = xavier_uniform((labels, width), seed, stream, part)
        self.weight = RowTable(weight.numpy()) if sparse else nn.Parameter(weight)
        self.bias: nn.Parameter | None = None
        if bias:
            self.bias = nn.Parameter(fan_in_uniform((labels,), width, seed, f"{name}/bias", part))

    @staticmethod
    def of(weight: np.ndarray, bias: np.ndarray) -> DenseHead:
        """A head with these weights (labels, width) and (labels,), which share their memory."""
        head = DenseHead(0, weight.shape[1], seed=0, name="")
        head.labels = len(weight)
        head.weight, head.bias = nn.Parameter(torch.from_numpy(weight)), nn.Parameter(torch.from_numpy(bias))
        return head

    def tables(self) -> Sequence[nn.Parameter | RowTable]:
        return (self.weight,) if self.bias is None else (self.weight, self.bias)

    def new_pass(
        self, batch: HeadBatch, tensors: Sequence[torch.Tensor], wanted: Sequence[bool]
    ) -> BlockPass:
        return _DensePass(batch, tensors, wanted)


class _DensePass(BlockPass):
    def __init__(self, batch: HeadBatch, tensors: Sequence[torch.Tensor], wanted: Sequence[bool]) -> None:
        self.features, self.weight, *biases = tensors
        self.bias = biases[0] if biases else None
        rows, width = self.features.shape
        a_label = rows * width if batch.columns.per_row else max(rows, width)
        size = max(16, NUMBERS_A_BLOCK // max(a_label, 1))
        super().__init__(batch, tensors, wanted, tables=2, size=size)

    def logits(self, start: int, end: int) -> torch.Tensor:
        self._vectors = self.columns.take(self.weight, start, end).to(self.features.dtype)
        if self.columns.per_row:  # (batch, block, width)
            logits = torch.bmm(self._vectors, self.features[..., None]).squeeze(-1)
        else:
            logits = torch.mm(self.features, self._vectors.T)
        logits = logits.to(sum_dtype(self.features.dtype))
        return logits if self.bias is None else logits.add_(self.columns.take(self.bias, start, end))

    def backward(self, start: int, end: int, gradient: torch.Tensor) -> None:
        of_features, per_row = self.gradients[0], self.columns.per_row
        rough = gradient.to(self.features.dtype)
        if of_features is not None and per_row:
            of_features += torch.bmm(rough[:, None], self._vectors).squeeze(1)
        elif of_features is not None:
            of_features += rough @ self._vectors
        if self.gradients[1] is not None:
            of_vectors = rough[..., None] * self.features[:, None] if per_row else rough.T @ self.features
            self.add_to_table(1, start, end, of_vectors)
        if self.bias is not None:
            self.add_to_table(2, start, end, gradient if per_row else gradient.sum(0))
