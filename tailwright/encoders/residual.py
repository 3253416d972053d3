"""A linear layer under a spectral norm, and the residual layer made of it.

The layer is W x / s + b, with s the largest singular value of W. In training every forward pass takes one
step of power iteration towards s. The two vectors of that iteration are buffers, so a resumed training has
the same s. W starts as the identity, whose s is 1, and b at zero. Torch's own
`torch.nn.utils.parametrizations.spectral_norm` computes the same up to rounding, but from vectors that torch
draws; a test compares the two.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.encoders.dropout import Dropout
from tailwright.streams import stream


class SpectralLinear(nn.Module):
    """W x / s + b, of the width of x."""

    vectors: torch.Tensor  # (2, width): the left and the right vector of the power iteration

    def __init__(self, width: int, seed: int, name: str) -> None:
        """`name` is the stream that the first vectors are drawn from."""
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width))
        self.bias = nn.Parameter(torch.zeros(width))
        drawn = stream(seed, name).standard_normal((2, width), dtype=np.float32)
        self.register_buffer("vectors", functional.normalize(torch.from_numpy(drawn), dim=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, width)."""
        if not self.training:
            # In two steps: from 300 columns on, `linear` rounds otherwise.
            return x @ self.normalised().T + self.bias
        with torch.no_grad():
            self.vectors[0] = functional.normalize(self.weight @ self.vectors[1], dim=0)
            self.vectors[1] = functional.normalize(self.weight.T @ self.vectors[0], dim=0)
        return functional.linear(x, self.normalised(), self.bias)

    def normalised(self) -> torch.Tensor:
        """(width, width): W / s."""
        left, right = self.vectors.clone()  # the next step changes them in place
        return self.weight / (left @ self.weight @ right)


class SpectralResidual(nn.Module):
    """x + dropout(relu(W x / s + b)): the residual layer of ASTEC."""

    def __init__(self, width: int, dropout: float, seed: int, name: str) -> None:
        super().__init__()
        self.linear, self.dropout = SpectralLinear(width, seed, name), Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, width)."""
        branch: torch.Tensor = self.dropout(functional.relu(self.linear(x)))
        return x + branch
