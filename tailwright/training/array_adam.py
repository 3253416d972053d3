"""AdamW for NumPy arrays that every batch touches; equal to `torch.optim.AdamW`."""

from __future__ import annotations

import numpy as np

from tailwright.training.named_arrays import Arrays
from tailwright.training.sparse_adam import BETAS, EPSILON


class ArrayAdam:
    """The optimiser of one float32 array: two moments of its shape, and a step counter."""

    def __init__(self, array: np.ndarray, weight_decay: float = 0.0, epsilon: float = EPSILON) -> None:
        """`array` is changed in place."""
        self.array, self.weight_decay, self.epsilon = array, weight_decay, epsilon
        self.steps = 0
        self.mean, self.square = np.zeros_like(array), np.zeros_like(array)
        self.gradient: np.ndarray | None = None

    def add(self, gradient: np.ndarray) -> None:
        """Add a gradient to what the next step takes; the array may be changed."""
        if self.gradient is None:
            self.gradient = gradient
        else:
            self.gradient += gradient

    def filled(self) -> np.ndarray:
        """The gradient in one piece of memory, from now on zeros where there was none."""
        found = np.zeros_like(self.array) if self.gradient is None else self.gradient
        self.gradient = np.ascontiguousarray(found)
        return self.gradient

    def squared_norm(self) -> float:
        """The sum of squares of the gradient."""
        return 0.0 if self.gradient is None else float(np.vdot(self.gradient, self.gradient))

    def step(self, rate: float) -> None:
        """One step with the gradient, which is then cleared."""
        gradient = self.gradient
        if gradient is None:
            return
        self.steps += 1
        self.array *= np.float32(1 - rate * self.weight_decay)
        self.mean += np.float32(1 - BETAS[0]) * (gradient - self.mean)
        self.square *= np.float32(BETAS[1])
        self.square += np.float32(1 - BETAS[1]) * gradient * gradient
        root = np.sqrt(self.square) / np.float32((1 - BETAS[1] ** self.steps) ** 0.5)
        root += np.float32(self.epsilon)
        self.array -= np.float32(rate / (1 - BETAS[0] ** self.steps)) * self.mean / root
        self.gradient = None

    def state(self) -> Arrays:
        """What a checkpoint keeps, besides the weights."""
        return {"mean": self.mean, "square": self.square, "steps": np.array([self.steps])}

    def restore(self, state: Arrays) -> None:
        self.mean[...] = state["mean"]
        self.square[...] = state["square"]
        self.steps = int(state["steps"][0])
