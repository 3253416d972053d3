"""AdamW for parameters that every batch touches, and which of them decay.

Equal to `torch.optim.AdamW`, whose first use loads torch's compiler: seconds and 80 MB for nothing here. What
it calls when it is asked for one fused pass over the memory is called here: for the weights of a language
model, a sixth of the time of an operation after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tailwright.settings import Settings, setting
from tailwright.training.sparse_adam import BETAS, EPSILON


class DenseAdam:
    """The optimiser of one tensor: two moments of its shape, and a step counter."""

    def __init__(self, parameter: torch.Tensor, weight_decay: float = 0.0, epsilon: float = EPSILON) -> None:
        self.parameter, self.weight_decay, self.epsilon = parameter, weight_decay, epsilon
        self.steps = 0
        self.mean = torch.zeros_like(parameter)
        self.square = torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step with the gradient that the last backward pass left, which is then cleared."""
        gradient = self.parameter.grad
        if gradient is None:
            return
        self.steps += 1
        torch._fused_adamw_(
            [self.parameter],
            [gradient],
            [self.mean],
            [self.square],
            [],
            [torch.tensor(float(self.steps), device=self.parameter.device)],
            lr=rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=self.weight_decay,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
        self.parameter.grad = None

    def state(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps, besides the weights."""
        return {
            "mean": self.mean.cpu().numpy(),
            "square": self.square.cpu().numpy(),
            "steps": np.array([self.steps]),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.mean.copy_(torch.from_numpy(state["mean"]))
        self.square.copy_(torch.from_numpy(state["square"]))
        self.steps = int(state["steps"][0])


@dataclass(frozen=True)
class WeightDecay(Settings):
    """A decay that spares biases and norms, whose size says nothing of complexity: by name and by shape.

    >>> decay = WeightDecay(0.01)
    >>> decay.of("layer.0.dense.weight", (4, 4)), decay.of("layer.0.LayerNorm.weight", (4,))
    (0.01, 0.0)
    """

    rate: float = setting(0.0, "of the parameters that decay", least=0)
    spared: tuple[str, ...] = setting(("bias", "norm"), "words in the names of parameters that do not decay")
    spares_vectors: bool = setting(True, "whether parameters of one axis or none do not decay either")

    def check(self) -> None:
        if any(not word for word in self.spared):
            raise ValueError(f"spared must hold words of names, got {self.spared}")

    def of(self, name: str, shape: Sequence[int]) -> float:
        """The decay of a parameter."""
        named = any(word.lower() in name.lower() for word in self.spared)
        return 0.0 if named or (self.spares_vectors and len(shape) < 2) else self.rate


def decay_of(decay: float | WeightDecay, name: str, shape: Sequence[int]) -> float:
    """The decay of a parameter; a number is the same for all."""
    return decay.of(name, shape) if isinstance(decay, WeightDecay) else decay
