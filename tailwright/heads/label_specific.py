"""The label-specific head (LA-RoBERTa of GDA): a label's context vector meets an output vector of the label.

With the attention a of label k over the tokens h of a text, the score is u_k . (sum a_t h_t) + b_k. It is
made as sum a_t (u_k . h_t) + b_k: two products of tokens and labels, and never a context vector for each pair
of text and label, which would be (batch, labels, width).

The loss and all gradients come from one pass over blocks of labels (`block_loss`). Of a block's products
p_t = w_k . h_t and q_t = u_k . h_t nothing is made twice: with g the slope of the score and s the score
without its bias, the slope of q_t is g a_t and that of p_t is g a_t (q_t - s).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from tailwright.heads.attended_head import AttendedHead
from tailwright.heads.block_loss import HeadPass
from tailwright.heads.columns import Columns
from tailwright.heads.initial import xavier_uniform
from tailwright.heads.label_attention import attended, block_width, new_label_vectors


@dataclass(frozen=True, eq=False)
class LabelSpecificHead(AttendedHead):
    """The tensors of the head; for labels in a large table, the rows that a batch needs."""

    attention: torch.Tensor  # (labels, width)
    outputs: torch.Tensor  # (labels, width)
    bias: torch.Tensor  # (labels,)

    @staticmethod
    def new(labels: int, width: int, seed: int, name: str) -> LabelSpecificHead:
        """Xavier-uniform vectors, biases of zero; `name` is the head's name among streams."""
        return LabelSpecificHead(
            new_label_vectors(labels, width, seed, f"{name}/attention"),
            xavier_uniform((labels, width), seed, f"{name}/outputs"),
            torch.zeros(labels),
        )

    def parts(self, prefix: str) -> Mapping[str, torch.Tensor]:
        """The tensors by name."""
        return {
            f"{prefix}.attention": self.attention,
            f"{prefix}.outputs": self.outputs,
            f"{prefix}.bias": self.bias,
        }

    def tensors(self) -> Sequence[torch.Tensor]:
        return self.attention, self.outputs, self.bias

    def work(
        self,
        tensors: Sequence[torch.Tensor],
        wanted: Sequence[bool],
        mask: torch.Tensor,
        candidates: torch.Tensor | None,
    ) -> HeadPass:
        return _Pass(tensors, wanted, mask, candidates)


class _Pass(HeadPass):
    def __init__(
        self,
        tensors: Sequence[torch.Tensor],
        wanted: Sequence[bool],
        mask: torch.Tensor,
        candidates: torch.Tensor | None,
    ) -> None:
        hidden, self.attention, self.outputs, self.bias = tensors
        columns = Columns(len(hidden), len(self.attention), candidates)
        super().__init__(columns, block_width(columns, hidden), tensors, wanted, (1, 2, 3))
        self.tokens = attended(hidden, mask, own=columns.own)

    def scores(self, start: int, end: int) -> torch.Tensor:
        tokens, take = self.tokens, self.columns.take
        self._place = start, end
        self._vectors = take(self.attention, start, end), take(self.outputs, start, end)
        self._attention = tokens.attention(self._vectors[0])
        self._weighted = tokens.products(self._vectors[1]).mul_(self._attention)  # a_t q_t
        self._sums = self._weighted.sum(-1)
        return tokens.by_pair(self._sums) + take(self.bias, start, end).to(self._sums.dtype)

    def pull(self, slopes: torch.Tensor) -> None:
        tokens, (start, end), into = self.tokens, self._place, self.gradients[0]
        by_token = tokens.by_pair(slopes)[..., None]
        outer = self._attention.mul_(by_token)  # slopes of q_t
        inner = self._weighted.mul_(by_token).addcmul_(outer, self._sums[..., None], value=-1)  # of p_t
        for place, slope, vectors in zip((1, 2), (inner, outer), self._vectors, strict=True):
            if into is not None:
                tokens.add_token_slopes(into, slope, vectors)
            if self.gradients[place] is not None:
                self.add_to_table(place, start, end, tokens.vector_slopes(slope))
        self.add_to_table(3, start, end, slopes if self.columns.own else slopes.sum(0))
