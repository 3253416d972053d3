"""A language model for another process: its class, its configuration and its weights as arrays.

The modules themselves do not travel: transformers hangs functions on them that cannot, and arrays are read
there without a copy of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tailwright.pretrained.quiet import quiet_libraries


@dataclass(frozen=True, eq=False)
class SentModel:
    """A transformers model on the CPU. Tied weights are one array with several names, buffers come behind."""

    kind: type[Any]
    config: Any
    weights: tuple[tuple[tuple[str, ...], np.ndarray], ...]
    buffers: tuple[tuple[str, np.ndarray], ...]


def sent_model(model: Any) -> SentModel:
    """What `received_model` makes the same model of."""
    names: dict[torch.Tensor, list[str]] = {}
    for name, weight in model.named_parameters(remove_duplicate=False):
        names.setdefault(weight, []).append(name)
    return SentModel(
        type(model),
        model.config,
        tuple((tuple(of_weight), weight.detach().numpy()) for weight, of_weight in names.items()),
        tuple((name, buffer.numpy()) for name, buffer in model.named_buffers()),
    )


def received_model(sent: SentModel) -> Any:
    """The model, which learns no more."""
    with quiet_libraries():
        model = sent.kind(sent.config)
    for names, weight in sent.weights:
        parameter = torch.nn.Parameter(torch.from_numpy(weight.copy()), requires_grad=False)
        for name in names:
            owner, _, last = name.rpartition(".")
            setattr(model.get_submodule(owner), last, parameter)
    for name, buffer in sent.buffers:
        model.get_buffer(name).copy_(torch.from_numpy(buffer.copy()))
    model.eval()
    return model
