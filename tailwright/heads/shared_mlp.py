"""The shared head (AttentionXML, TailMix): one small network turns the context of any label into its score.

A label differs from another by its attention alone. The layers are width -> f1 -> relu -> ... -> 1, without
dropout between them. Attention and layers are worked through block of labels by block, loss and gradients
together (`block_loss`): contexts of all labels, (batch, labels, width), are never alive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch.nn import functional

from tailwright.heads.attended_head import AttendedHead
from tailwright.heads.block_loss import HeadPass
from tailwright.heads.columns import Columns
from tailwright.heads.initial import fan_in_uniform, xavier_uniform
from tailwright.heads.label_attention import attended, block_width, new_label_vectors


@dataclass(frozen=True, eq=False)
class SharedMlpHead(AttendedHead):
    """The tensors of the head; `attention` may be the rows of a large table that a batch needs."""

    attention: torch.Tensor  # (labels, width)
    weights: tuple[torch.Tensor, ...]  # (f1, width), ..., (1, f of the last but one)
    biases: tuple[torch.Tensor, ...]  # (f1,), ..., (1,)

    @staticmethod
    def new(labels: int, width: int, layers: Sequence[int], seed: int, name: str) -> SharedMlpHead:
        """`layers` are the sizes between `width` and 1, at least one; `name` is the head's among streams.

        Xavier-uniform vectors and weights; biases as torch starts those of a linear layer.
        """
        if not layers or min(layers) < 1:
            raise ValueError(f"layers must be one or more sizes >= 1, got {list(layers)}")
        sizes = list(pairwise([width, *layers, 1]))
        return SharedMlpHead(
            new_label_vectors(labels, width, seed, f"{name}/attention"),
            tuple(xavier_uniform((b, a), seed, f"{name}/weight-{i}") for i, (a, b) in enumerate(sizes)),
            tuple(fan_in_uniform((b,), a, seed, f"{name}/bias-{i}") for i, (a, b) in enumerate(sizes)),
        )

    def parts(self, prefix: str) -> Mapping[str, torch.Tensor]:
        """The tensors by name; those of layers are the same for any labels, so a model may hand them on."""
        found = {f"{prefix}.attention": self.attention}
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            found |= {f"{prefix}.weight-{place}": weight, f"{prefix}.bias-{place}": bias}
        return found

    def of_contexts(self, contexts: torch.Tensor) -> torch.Tensor:
        """(batch, labels): the scores of contexts (batch, labels, width), with a graph."""
        return _layers(contexts, self.weights, self.biases)[-1].squeeze(-1)

    def tensors(self) -> Sequence[torch.Tensor]:
        return self.attention, *self.weights, *self.biases

    def work(
        self,
        tensors: Sequence[torch.Tensor],
        wanted: Sequence[bool],
        mask: torch.Tensor,
        candidates: torch.Tensor | None,
    ) -> HeadPass:
        return _Pass(tensors, wanted, mask, candidates)


def _layers(
    contexts: torch.Tensor, weights: Sequence[torch.Tensor], biases: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """What goes into each layer, and last what comes out of the last one."""
    found = [contexts]
    for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if place:
            found[-1] = functional.relu(found[-1])
        found.append(functional.linear(found[-1], weight, bias))
    return found


class _Pass(HeadPass):
    def __init__(
        self,
        tensors: Sequence[torch.Tensor],
        wanted: Sequence[bool],
        mask: torch.Tensor,
        candidates: torch.Tensor | None,
    ) -> None:
        hidden, self.attention, *layers = tensors
        self.weights = [weight.to(hidden.dtype) for weight in layers[: len(layers) // 2]]
        self.biases = [bias.to(hidden.dtype) for bias in layers[len(layers) // 2 :]]
        columns = Columns(len(hidden), len(self.attention), candidates)
        width = block_width(columns, hidden, *(weight.shape[1] for weight in self.weights))
        super().__init__(columns, width, tensors, wanted, (1,))
        self.tokens = attended(hidden, mask, own=columns.own)
        # Without a gradient for tokens or attention the pull ends at the layers.
        self._to_attention = wanted[0] or wanted[1]

    def scores(self, start: int, end: int) -> torch.Tensor:
        self._place = start, end
        self._vectors = self.columns.take(self.attention, start, end)
        self._attention = self.tokens.attention(self._vectors)
        self._passed = _layers(self.tokens.contexts(self._attention), self.weights, self.biases)
        return self._passed[-1].squeeze(-1).to(self._attention.dtype)

    def pull(self, slopes: torch.Tensor) -> None:
        back = slopes[..., None].to(self.tokens.precision)  # (batch, block, outputs of the layer)
        for layer in reversed(range(len(self.weights))):
            entered = self._passed[layer]
            self._add_layer(layer, back.flatten(0, 1), entered.flatten(0, 1))
            if layer or self._to_attention:
                back = back @ self.weights[layer]
            if layer:
                back.mul_(entered > 0)
        if self._to_attention:
            start, end = self._place
            pulled = self.tokens.pull_contexts(
                self._attention,
                self._passed[0],
                back,
                self._vectors,
                self.gradients[0],
                wanted=self.gradients[1] is not None,
            )
            if pulled is not None:
                self.add_to_table(1, start, end, pulled)

    def _add_layer(self, layer: int, back: torch.Tensor, entered: torch.Tensor) -> None:
        weight, bias = self.gradients[2 + layer], self.gradients[2 + len(self.weights) + layer]
        if weight is not None:
            weight += back.T @ entered
        if bias is not None:
            bias += back.sum(0)
