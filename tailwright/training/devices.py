"""Where tensors live: `auto`, `cpu` or `cuda` as a user says it, and the device that it is here."""

from __future__ import annotations

from typing import Literal

import torch

from tailwright.errors import InputError
from tailwright.training.team import local_rank

Device = Literal["auto", "cpu", "cuda"]


def device_of(name: Device) -> torch.device:
    """`auto` is CUDA where there is some; `cuda` without it is an error.

    Of several processes on a machine each gets a device of its own, by its number.
    """
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise InputError("device is cuda, but torch finds none", expected="auto or cpu")
    if not there or name == "cpu":
        return torch.device("cpu")
    number = local_rank()
    return torch.device("cuda") if number is None else torch.device("cuda", number)
