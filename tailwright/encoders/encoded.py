"""`Encoded`: what an encoder gives of a batch of texts, and what a head reads."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, eq=False)
class Encoded:
    """The hidden states of some texts: one a token, or one a text."""

    states: torch.Tensor  # (rows, tokens, width), or (rows, width)
    mask: torch.Tensor | None  # (rows, tokens) bool: where a token is; None where states are not of tokens

    def __len__(self) -> int:
        return len(self.states)

    def token_mask(self) -> torch.Tensor:
        """The mask, for a head that attends to tokens."""
        if self.mask is None:
            raise ValueError("label attention needs an encoder that gives a state a token")
        return self.mask

    def mean(self) -> torch.Tensor:
        """(rows, width): the mean of a text's token states, or its one state."""
        if self.mask is None:
            return self.states
        inside = self.mask[..., None].to(self.states.dtype)  # (rows, tokens, 1)
        return (self.states * inside).sum(1) / inside.sum(1)
