"""Adafactor at a rate that the plan gives, as soft prompts are trained with: transformers' own, one tensor.

Its second moments are means over the rows and over the columns of a tensor, and a step is never larger than
the rate, in the root mean square over the tensor. Neither the rate nor the step depends on the tensor's size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers.optimization import Adafactor

from tailwright.training.dense_adam import TensorGradient

LARGEST_STEP = 1.0  # in times the rate


class FixedRateAdafactor(TensorGradient):
    """The optimiser of one tensor of two axes or more."""

    def __init__(self, parameter: torch.Tensor, weight_decay: float = 0.0) -> None:
        if parameter.dim() < 2:
            raise ValueError(f"Adafactor takes two axes or more, got {tuple(parameter.shape)}")
        super().__init__(parameter)
        self._adafactor: Any = Adafactor(  # type: ignore[no-untyped-call]
            [parameter],
            lr=1.0,
            clip_threshold=LARGEST_STEP,
            weight_decay=weight_decay,
            scale_parameter=False,
            relative_step=False,
        )
        shape = parameter.shape
        self._moments: dict[str, Any] = self._adafactor.state[parameter]
        self._moments |= {
            "step": 0,
            "exp_avg_sq_row": parameter.new_zeros(shape[:-1]),
            "exp_avg_sq_col": parameter.new_zeros(shape[:-2] + shape[-1:]),
        }

    def step(self, rate: float) -> None:
        """One step with the gradient that the last backward pass left, which is then cleared."""
        self._adafactor.param_groups[0]["lr"] = rate
        self._adafactor.step()
        self.parameter.grad = None

    def state(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps, besides the weights."""
        return {
            "rows": self._moments["exp_avg_sq_row"].cpu().numpy(),
            "columns": self._moments["exp_avg_sq_col"].cpu().numpy(),
            "steps": np.array([self._moments["step"]]),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._moments["exp_avg_sq_row"].copy_(torch.from_numpy(state["rows"]))
        self._moments["exp_avg_sq_col"].copy_(torch.from_numpy(state["columns"]))
        self._moments["step"] = int(state["steps"][0])
