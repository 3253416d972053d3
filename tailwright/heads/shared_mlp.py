"""The shared head (AttentionXML, TailMix): one small network turns the context of any label into its logit.

A label differs from another by its attention alone. The layers are width -> f1 -> ReLU -> ... -> 1, without
dropout between them. Attention and layers are worked through a block of labels at a time, so the contexts of
all labels, (batch, labels, width), are never alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

from tailwright.encoders.row_table import RowTable
from tailwright.heads.block_pass import BlockPass, HeadBatch
from tailwright.heads.blockwise import BlockwiseHead
from tailwright.heads.initial import fan_in_uniform, xavier_uniform
from tailwright.heads.label_attention import block_size, token_attention


class SharedMlpHead(BlockwiseHead):
    """`attention` (labels, width), and `layers` that all labels share, from `width` to one logit."""

    mix_points = ("contexts", "hidden", "pairs")

    def __init__(
        self,
        labels: int,
        width: int,
        layers: Sequence[int],
        *,
        seed: int,
        name: str,
        sparse: bool = False,
    ) -> None:
        """`layers` are the sizes between `width` and 1, at least one.

        Vectors and weights start Xavier-uniform, biases as those of torch's linear layer; the streams are
        `name`/attention, `name`/weight-0, `name`/bias-0, `name`/weight-1...
        """
        super().__init__(labels, sparse=sparse)
        if not layers or min(layers) < 1:
            raise ValueError(f"layers must be one or more sizes >= 1, got {list(layers)}")
        vectors = xavier_uniform((labels, width), seed, f"{name}/attention")
        self.attention = RowTable(vectors.numpy()) if sparse else nn.Parameter(vectors)
        self.layers = nn.ModuleList()
        for number, (inputs, outputs) in enumerate(pairwise([width, *layers, 1])):
            layer = nn.Linear(inputs, outputs, device="meta")  # torch's generator draws nothing
            layer.weight = nn.Parameter(xavier_uniform((outputs, inputs), seed, f"{name}/weight-{number}"))
            layer.bias = nn.Parameter(fan_in_uniform((outputs,), inputs, seed, f"{name}/bias-{number}"))
            self.layers.append(layer)

    def tables(self) -> Sequence[nn.Parameter | RowTable]:
        return (self.attention,)

    def shared(self) -> Sequence[nn.Parameter]:
        return list(self.layers.parameters())

    def logits_of_contexts(self, contexts: torch.Tensor, tables: Sequence[torch.Tensor]) -> torch.Tensor:
        *inner, last = self.layers
        hidden = contexts
        for layer in inner:
            hidden = functional.relu(layer(hidden))
        return last(hidden).squeeze(-1)

    def new_pass(
        self, batch: HeadBatch, tensors: Sequence[torch.Tensor], wanted: Sequence[bool]
    ) -> BlockPass:
        return _SharedMlpPass(batch, tensors, wanted)


class _SharedMlpPass(BlockPass):
    def __init__(self, batch: HeadBatch, tensors: Sequence[torch.Tensor], wanted: Sequence[bool]) -> None:
        states, self.attention, *shared = tensors
        self.weights = [weight.to(states.dtype) for weight in shared[::2]]
        self.biases = [bias.to(states.dtype) for bias in shared[1::2]]
        size = block_size(batch.columns, states, *(weight.shape[1] for weight in self.weights))
        super().__init__(batch, tensors, wanted, tables=1, size=size)
        self.tokens = token_attention(states, batch.encoded.token_mask(), batch.columns)
        # Without a gradient for states or attention the backward pass ends at the layers.
        self._to_attention = wanted[0] or wanted[1]

    def logits(self, start: int, end: int) -> torch.Tensor:
        self._vectors = self.columns.take(self.attention, start, end)
        self._attention = self.tokens.attention(self._vectors)
        contexts = self.tokens.contexts(self._attention)
        inputs = [self.mixing.forward("contexts", contexts)]  # of each layer
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = functional.relu(functional.linear(inputs[-1], weight, bias))
            if len(inputs) == 1:
                first, hidden = hidden, self.mixing.forward("hidden", hidden)
            inputs.append(hidden)
        logits = functional.linear(inputs[-1], self.weights[-1], self.biases[-1])
        self._contexts, self._hidden, self._inputs = contexts, first, inputs
        return logits.squeeze(-1).to(self._attention.dtype)

    def backward(self, start: int, end: int, gradient: torch.Tensor) -> None:
        gradient = gradient[..., None].to(self.tokens.dtype)  # (batch, block, outputs of the layer)
        for layer in reversed(range(len(self.weights))):
            self._add_layer(layer, gradient.flatten(0, 1), self._inputs[layer].flatten(0, 1))
            if layer or self._to_attention:
                gradient = gradient @ self.weights[layer]
            if layer == 1:
                gradient = self.mixing.backward("hidden", gradient).mul_(self._hidden > 0)
            elif layer:
                gradient.mul_(self._inputs[layer] > 0)
        if self._to_attention:
            of_vectors = self.tokens.backward_contexts(
                self._attention,
                self._contexts,
                self.mixing.backward("contexts", gradient),
                self._vectors,
                self.gradients[0],
                wanted=self.gradients[1] is not None,
            )
            if of_vectors is not None:
                self.add_to_table(1, start, end, of_vectors)

    def _add_layer(self, layer: int, gradient: torch.Tensor, entered: torch.Tensor) -> None:
        weight, bias = self.gradients[2 + 2 * layer], self.gradients[3 + 2 * layer]
        if weight is not None:
            weight += gradient.T @ entered
        if bias is not None:
            bias += gradient.sum(0)
