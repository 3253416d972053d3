"""`BatchNorm`: batch normalisation whose statistics are saved as other weights are."""

from __future__ import annotations

import torch
from torch import nn


class BatchNorm(nn.BatchNorm1d):
    """`nn.BatchNorm1d` over (rows, channels) or (rows, channels, places).

    It does not count batches, so that all it keeps is float32. One value a channel has no variance: a batch
    of a single row is normalised by the running statistics, where torch would refuse it.
    """

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.register_buffer("num_batches_tracked", None)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if self.training and input.numel() <= input.shape[1]:
            mean, variance = self.running_mean, self.running_var
            return nn.functional.batch_norm(input, mean, variance, self.weight, self.bias, eps=self.eps)
        return super().forward(input)
