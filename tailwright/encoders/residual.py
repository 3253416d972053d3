"""Linear layers under a spectral norm, and the residual layers made of them.

The layer is W x / s + b, with s the largest singular value of W. In training every forward pass takes one
step of power iteration towards s. The two vectors of that iteration are buffers, so a resumed training has
the same s. W starts as the identity, whose s is 1, and b at zero. Torch's own
`torch.nn.utils.parametrizations.spectral_norm` computes the same up to rounding, but from vectors that torch
draws; a test compares the two.

| layer | of | is |
|---|---|---|
| `SpectralResidual` | ASTEC | x + dropout(relu(W x / s + b)) |
| `GatedResidual` | DECAF | a (W h / s + b) + c x, with gates a and c in (0, 1) for each dimension |
| `ScaledResidual` | ECLARE | x + k (W h / s + b), with one number k |

where h = dropout(relu(x)).

`SpectralMap` is such a layer between two widths; its W starts at random.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.encoders.dropout import Dropout
from tailwright.streams import stream

FIRST_ITERATIONS = 15  # of power iteration for a W that is drawn at random


class SpectralLinear(nn.Module):
    """W x / s + b, of the width of x."""

    vectors: torch.Tensor  # (2, width): the left and the right vector of the power iteration

    def __init__(self, width: int, seed: int, name: str) -> None:
        """`name` is the stream that the first vectors are drawn from."""
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width))
        self.bias = nn.Parameter(torch.zeros(width))
        drawn = stream(seed, name).standard_normal((2, width), dtype=np.float32)[1]
        right = functional.normalize(torch.from_numpy(drawn), dim=0)
        self.register_buffer("vectors", torch.stack([right, right]))  # of the identity: s is 1 from the start

    def forward(self, x: torch.Tensor, factor: torch.Tensor | None = None) -> torch.Tensor:
        """(rows, width), times a `factor` (1,) or (width,).

        The factor is multiplied with W and b, which are smaller than what they give.
        """
        if self.training:
            with torch.no_grad():
                self.vectors[0] = functional.normalize(self.weight @ self.vectors[1], dim=0)
                self.vectors[1] = functional.normalize(self.weight.T @ self.vectors[0], dim=0)
        weight: torch.Tensor = self.normalised()
        bias: torch.Tensor = self.bias
        if factor is not None:
            weight, bias = factor[:, None] * weight, factor * bias
        if not self.training:
            # In two steps: from 300 columns on, `linear` rounds otherwise.
            return x @ weight.T + bias
        return functional.linear(x, weight, bias)

    def normalised(self) -> torch.Tensor:
        """(width, width): W / s."""
        left, right = self.vectors.clone()  # the next step changes them in place
        return self.weight / (left @ self.weight @ right)


class SpectralMap(nn.Module):
    """W x / s (+ b) from one width to another. W starts as Xavier-uniform, b at zero."""

    left: torch.Tensor  # (outputs,): the vectors of the power iteration
    right: torch.Tensor  # (inputs,)

    def __init__(self, inputs: int, outputs: int, seed: int, name: str, *, bias: bool = True) -> None:
        """`name` is the stream that W and the first vectors are drawn from."""
        super().__init__()
        random = stream(seed, name)
        bound = (6 / (inputs + outputs)) ** 0.5
        drawn = random.uniform(-bound, bound, (outputs, inputs)).astype(np.float32)
        self.weight = nn.Parameter(torch.from_numpy(drawn))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.register_buffer("left", torch.zeros(outputs))
        self.register_buffer("right", torch.from_numpy(random.standard_normal(inputs, dtype=np.float32)))
        self.settle()

    @torch.no_grad()
    def settle(self) -> None:
        """Bring s near the largest singular value, for a W that was not reached by training."""
        for _ in range(FIRST_ITERATIONS):
            self._iterate()

    def _iterate(self) -> None:
        self.left[:] = functional.normalize(self.weight @ self.right, dim=0)
        self.right[:] = functional.normalize(self.weight.T @ self.left, dim=0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, inputs) to (rows, outputs)."""
        mapped = x @ self.spectral_weight().T
        return mapped if self.bias is None else mapped + self.bias

    def spectral_weight(self) -> torch.Tensor:
        """(outputs, inputs): W / s for one pass, in training after one step of power iteration."""
        if self.training:
            with torch.no_grad():
                self._iterate()
        return self.normalised()

    def normalised(self) -> torch.Tensor:
        """(outputs, inputs): W / s."""
        left, right = self.left.clone(), self.right.clone()  # the next step changes them in place
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


class GatedResidual(nn.Module):
    """sigmoid(a) * (W dropout(relu(x)) / s + b) + sigmoid(c) * x: the residual layer of DECAF.

    The gates a and c start at zero, so both parts count half.
    """

    def __init__(self, width: int, dropout: float, seed: int, name: str) -> None:
        super().__init__()
        self.linear, self.dropout = SpectralLinear(width, seed, name), Dropout(dropout)
        self.branch_gate = nn.Parameter(torch.zeros(width))
        self.skip_gate = nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, width)."""
        branch: torch.Tensor = self.linear(self.dropout.of_relu(x), torch.sigmoid(self.branch_gate))
        return branch.addcmul_(x, torch.sigmoid(self.skip_gate))


class ScaledResidual(nn.Module):
    """x + k (W dropout(relu(x)) / s + b): the residual layer of ECLARE; k starts at 1."""

    def __init__(self, width: int, dropout: float, seed: int, name: str) -> None:
        super().__init__()
        self.linear, self.dropout = SpectralLinear(width, seed, name), Dropout(dropout)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, width)."""
        branch: torch.Tensor = self.linear(self.dropout.of_relu(x), self.scale)
        return branch.add_(x)
