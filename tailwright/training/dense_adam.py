"""AdamW for the dense parts of a model: few and small tensors that every batch touches.

Equal to `torch.optim.AdamW`, whose first use loads torch's compiler: seconds and 80 MB for nothing here.
"""

from __future__ import annotations

import numpy as np
import torch

from tailwright.training.sparse_adam import BETAS, EPSILON


class DenseAdam:
    """The optimiser of one tensor: two moments of its shape, and a step counter."""

    def __init__(self, part: torch.Tensor, weight_decay: float = 0.0) -> None:
        self.part, self.weight_decay = part, weight_decay
        self.steps = 0
        self.mean = torch.zeros_like(part)
        self.square = torch.zeros_like(part)

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step with the gradient that the last backward pass left, which is then cleared."""
        gradient = self.part.grad
        if gradient is None:
            return
        self.steps += 1
        self.part.mul_(1 - rate * self.weight_decay)
        self.mean.lerp_(gradient, 1 - BETAS[0])
        self.square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        size = self.square.sqrt().div_((1 - BETAS[1] ** self.steps) ** 0.5).add_(EPSILON)
        self.part.addcdiv_(self.mean, size, value=-rate / (1 - BETAS[0] ** self.steps))
        self.part.grad = None

    def state(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps, besides the weights."""
        return {
            "mean": self.mean.numpy(),
            "square": self.square.numpy(),
            "steps": np.array([self.steps]),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.mean.copy_(torch.from_numpy(state["mean"]))
        self.square.copy_(torch.from_numpy(state["square"]))
        self.steps = int(state["steps"][0])
