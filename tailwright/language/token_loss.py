"""The cross-entropy of chosen tokens under a causal model, without the scores of any other position.

A model scores its whole vocabulary at every position: for SmolLM2, whose vocabulary is 85 times as wide as
its layers, this is a good part of all work, and most of it would be for the source, which gives no loss. So
what comes to the output layer is cut to the positions that count. This leaves to the model what it does
before and after, such as scaling or capping of scores, and holds for every architecture with such a layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from tailwright.errors import InputError


def token_loss(model: Any, tokens: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
    """The summed loss of the tokens (rows, length) that `predicted` marks, each given all before it."""
    counts = predicted[:, 1:]
    with _output_at(model, counts):
        scores = model(input_ids=tokens, use_cache=False).logits  # (marked tokens, vocabulary)
    return nn.functional.cross_entropy(scores.float(), tokens[:, 1:][counts], reduction="sum")


@contextmanager
def _output_at(model: Any, counts: torch.Tensor) -> Iterator[None]:
    """While the block runs, the output layer sees (marked, width) in place of (rows, length, width)."""
    layer = model.get_output_embeddings()
    if layer is None:
        raise InputError(f"{type(model).__name__} has no output layer", expected="a causal language model")

    def cut(_: nn.Module, hidden: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        return (hidden[0][:, :-1][counts],)

    handle = layer.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()
