"""AdamW for tensors that every batch touches.

Equal to `torch.optim.AdamW`, whose first use loads torch's compiler: seconds and 80 MB for nothing here. What
it calls when it is asked for one fused pass over the memory is called here: for the weights of a language
model, a sixth of the time of an operation after the other.
"""

from __future__ import annotations

import numpy as np
import torch

from tailwright.training.sparse_adam import BETAS, EPSILON


class TensorGradient:
    """The gradient that backward passes leave in a tensor, as optimisers see it."""

    def __init__(self, parameter: torch.Tensor) -> None:
        self.parameter = parameter

    @property
    def gradient(self) -> torch.Tensor | None:
        """None where no loss reached the tensor."""
        return self.parameter.grad

    @gradient.setter
    def gradient(self, gradient: torch.Tensor | None) -> None:
        self.parameter.grad = gradient

    def filled(self) -> torch.Tensor:
        """The gradient in one piece of memory, from now on zeros where there was none."""
        found = self.parameter.grad
        found = torch.zeros_like(self.parameter) if found is None else found.contiguous()
        self.parameter.grad = found
        return found

    def squared_norm(self) -> float:
        """The sum of squares, row by row: exact for millions, without a copy of the size of the gradient."""
        found = self.parameter.grad
        if found is None:
            return 0.0
        rows = found.reshape(len(found) if found.dim() > 1 else 1, -1)
        return float(torch.linalg.vector_norm(rows, dim=1).square().sum())


class DenseAdam(TensorGradient):
    """The optimiser of one tensor: two moments of its shape, and a step counter."""

    def __init__(self, parameter: torch.Tensor, weight_decay: float = 0.0, epsilon: float = EPSILON) -> None:
        super().__init__(parameter)
        self.weight_decay, self.epsilon = weight_decay, epsilon
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
