"""A residual block under a spectral norm: x + relu(W x / s + b), with s the largest singular value of W.

s is followed by one step of power iteration a training step; the two vectors of that iteration are part of
the state, so a resumed training has the same s. W starts as the identity, whose s is 1, and b at zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from tailwright.streams import stream


@dataclass(frozen=True, eq=False)
class SpectralResidual:
    """The block's state: what is learnt, and the left and right vector of the power iteration."""

    weight: torch.Tensor  # (width, width)
    bias: torch.Tensor  # (width,)
    vectors: torch.Tensor  # (2, width), never trained

    @staticmethod
    def new(width: int, seed: int, name: str) -> SpectralResidual:
        """A block that adds relu(x); `name` is the stream that the first vectors are drawn from."""
        drawn = stream(seed, name).standard_normal((2, width), dtype=np.float32)
        vectors = functional.normalize(torch.from_numpy(drawn), dim=1)
        return SpectralResidual(torch.eye(width), torch.zeros(width), vectors)

    def parts(self, prefix: str) -> Mapping[str, torch.Tensor]:
        """The tensors by name, for a checkpoint."""
        return {
            f"{prefix}.weight": self.weight,
            f"{prefix}.bias": self.bias,
            f"{prefix}.vectors": self.vectors,
        }

    def __call__(self, x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        """(rows, width) in training: one step of the power iteration, and dropout by `kept` on the branch."""
        weight = self.weight.detach()
        with torch.no_grad():
            self.vectors[0] = functional.normalize(weight @ self.vectors[1], dim=0)
            self.vectors[1] = functional.normalize(weight.T @ self.vectors[0], dim=0)
        largest = self.vectors[0].clone() @ self.weight @ self.vectors[1].clone()
        return x + kept * functional.relu(functional.linear(x, self.weight / largest, self.bias))

    def settled(self) -> Residual:
        """The block as it is used after training, the norm divided out."""
        weight = self.weight.detach()
        largest = self.vectors[0] @ weight @ self.vectors[1]
        return Residual((weight / largest).numpy(), self.bias.detach().numpy().copy())


@dataclass(frozen=True, eq=False)
class Residual:
    """x + relu(W x + b), without state."""

    weight: np.ndarray  # (width, width) float32
    bias: np.ndarray  # (width,) float32

    def __call__(self, x: np.ndarray) -> np.ndarray:
        branch = torch.from_numpy(x) @ torch.from_numpy(self.weight).T + torch.from_numpy(self.bias)
        return x + functional.relu(branch).numpy()
