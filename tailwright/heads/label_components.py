"""A label's vector put together from several: its text's, its neighbours' texts' and one that is free.

| module | of | the vector |
|---|---|---|
| `GatedSum` | DECAF | sigmoid(a) * free + sigmoid(b) * text, with gates for each dimension |
| `ComponentAttention` | ECLARE | the mean of the components, weighted by attention over them |

The attention looks at all components of a label at once:

    logits = V flatten(U dropout(relu(H)) + c)      H: (components, width), the label's components
    vector = sum of softmax(logits) * H

with U (width, width) and V (components, components x width) under a spectral norm.
"""

from __future__ import annotations

import torch
from torch import nn

from tailwright.encoders.dropout import Dropout
from tailwright.encoders.residual import SpectralMap


class GatedSum(nn.Module):
    """sigmoid(a) * free + sigmoid(b) * text; the gates start at zero, so both count half."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.free_gate = nn.Parameter(torch.zeros(width))
        self.text_gate = nn.Parameter(torch.zeros(width))

    def forward(self, free: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        """(labels, width) each."""
        return torch.addcmul(torch.sigmoid(self.text_gate) * text, free, torch.sigmoid(self.free_gate))


class ComponentAttention(nn.Module):
    """Attention over the components of each label."""

    def __init__(self, components: int, width: int, dropout: float, seed: int, name: str) -> None:
        """`name` is the stream that the weights are drawn from."""
        super().__init__()
        self.components, self.width = components, width
        self.dropout = Dropout(dropout)
        self.inner = SpectralMap(width, width, seed, f"{name}/inner")
        self.outer = SpectralMap(components * width, components, seed, f"{name}/outer", bias=False)

    def forward(self, *components: torch.Tensor) -> torch.Tensor:
        """(labels, width), from the components, (labels, width) each."""
        stacked = torch.stack(components, 1)  # (labels, components, width)
        return (self._weights(stacked)[:, None] @ stacked).squeeze(1)

    def weights(self, *components: torch.Tensor) -> torch.Tensor:
        """(labels, components): how much each component counts; they sum to 1."""
        return self._weights(torch.stack(components, 1))

    def _weights(self, stacked: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.dropout.of_relu(stacked).flatten(1)
        # V and U are multiplied first, once for all labels, instead of U with each component of each label.
        outer = self.outer.spectral_weight().view(self.components, self.components, self.width)
        both = (outer @ self.inner.spectral_weight()).flatten(1)  # (components, components x width)
        assert self.inner.bias is not None
        return torch.softmax(hidden @ both.T + outer.sum(1) @ self.inner.bias, 1)

    @torch.no_grad()
    def with_one_more(self, seed: int, name: str) -> ComponentAttention:
        """A new attention over one more component, which starts from this one's weights.

        Everything about the components that there were is copied; only what the new one adds is drawn.
        """
        wider = ComponentAttention(self.components + 1, self.width, self.dropout.p, seed, name)
        wider.inner.load_state_dict(self.inner.state_dict())
        wider.outer.weight[: self.components, : self.components * self.width] = self.outer.weight
        wider.outer.settle()
        return wider
