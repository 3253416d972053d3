"""AdamW for parameters that every batch touches.

Equal to `torch.optim.AdamW`, whose first use loads torch's compiler: seconds and 80 MB for nothing here. What
it calls when it is asked for one fused pass over the memory is called here: for the weights of a language
model, a sixth of the time of an operation after the other.
"""

from __future__ import annotations

import numpy as np
import torch

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
