"""The label-specific head (LA-RoBERTa of GDA): a label's context vector meets an output vector of the label.

With the attention a of label k over the tokens h of a text, the logit is u_k . (sum a_t h_t) + b_k. It is
computed as sum a_t (u_k . h_t) + b_k: two products of tokens and labels, and never a context vector for each
pair of text and label, which would be (batch, labels, width).

A block's products p_t = w_k . h_t and q_t = u_k . h_t are computed once: with g the gradient of the logit and
s the logit without its bias, the gradient of q_t is g a_t and that of p_t is g a_t (q_t - s).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.heads.block_pass import BlockPass, HeadBatch
from tailwright.heads.blockwise import BlockwiseHead
from tailwright.heads.initial import xavier_uniform
from tailwright.heads.label_attention import block_size, token_attention


class LabelSpecificHead(BlockwiseHead):
    """`attention` and `outputs` (labels, width), Xavier-uniform at first; `bias` (labels,), 0 at first."""

    mix_points = ("contexts", "pairs")

    def __init__(self, labels: int, width: int, *, seed: int, name: str) -> None:
        """The streams are `name`/attention and `name`/outputs."""
        super().__init__(labels)
        self.attention = nn.Parameter(xavier_uniform((labels, width), seed, f"{name}/attention"))
        self.outputs = nn.Parameter(xavier_uniform((labels, width), seed, f"{name}/outputs"))
        self.bias = nn.Parameter(torch.zeros(labels))

    def tables(self) -> Sequence[nn.Parameter | RowTable]:
        return self.attention, self.outputs, self.bias

    def logits_of_contexts(self, contexts: torch.Tensor, tables: Sequence[torch.Tensor]) -> torch.Tensor:
        _, outputs, bias = tables
        return (contexts * outputs).sum(-1) + bias

    def new_pass(
        self, batch: HeadBatch, tensors: Sequence[torch.Tensor], wanted: Sequence[bool]
    ) -> BlockPass:
        return _LabelSpecificPass(batch, tensors, wanted)


class _LabelSpecificPass(BlockPass):
    def __init__(self, batch: HeadBatch, tensors: Sequence[torch.Tensor], wanted: Sequence[bool]) -> None:
        states, self.attention, self.outputs, self.bias = tensors
        size = block_size(batch.columns, states)
        super().__init__(batch, tensors, wanted, tables=3, size=size)
        self.tokens = token_attention(states, batch.encoded.token_mask(), batch.columns)

    def logits(self, start: int, end: int) -> torch.Tensor:
        tokens, take = self.tokens, self.columns.take
        self._vectors = take(self.attention, start, end), take(self.outputs, start, end)
        self._attention = tokens.attention(self._vectors[0])
        self._weighted = tokens.products(self._vectors[1]).mul_(self._attention)  # a_t q_t
        self._sums = self._weighted.sum(-1)
        # Mixing is linear, so contexts mixed and multiplied are products mixed: of width 1, not of contexts'.
        sums = self.mixing.forward("contexts", tokens.by_pair(self._sums)[..., None])[..., 0]
        return sums + take(self.bias, start, end).to(sums.dtype)

    def backward(self, start: int, end: int, gradient: torch.Tensor) -> None:
        tokens, of_states = self.tokens, self.gradients[0]
        of_sums = self.mixing.backward("contexts", gradient[..., None])[..., 0]
        by_token = tokens.by_pair(of_sums)[..., None]
        outer = self._attention.mul_(by_token)  # of q_t
        inner = self._weighted.mul_(by_token).addcmul_(outer, self._sums[..., None], value=-1)  # of p_t
        for place, of_products, vectors in zip((1, 2), (inner, outer), self._vectors, strict=True):
            if of_states is not None:
                tokens.add_states_gradient(of_states, of_products, vectors)
            if self.gradients[place] is not None:
                self.add_to_table(place, start, end, tokens.vectors_gradient(of_products))
        self.add_to_table(3, start, end, gradient if self.columns.per_row else gradient.sum(0))
