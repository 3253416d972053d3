"""`learn_once`: what a network learns in a phase, once; after a kill it continues.

The work folder:

| in the folder | holds |
|---|---|
| `log.jsonl` | epochs with losses, seconds and peak memory |
| `checkpoint/` | how far an unfinished training is; about four times what learns, removed in the end |
| `generator/` | what was learnt: all weights, or only those that learn, such as LoRA's matrices or a prompt |
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import nn

from tailwright.errors import TailwrightError
from tailwright.store import open_folder, writing
from tailwright.store.keeping import alone
from tailwright.training.loop import run_phases
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.phases import Phase
from tailwright.training.weights import put_weights, weights_of
from tailwright.training.workplace import Workplace

log = logging.getLogger(__name__)

KIND = "generator"


def learn_once(
    folder: Path,
    network: nn.Module,
    learning: Mapping[str, torch.Tensor],
    phase: Callable[[Workplace], Phase],
    *,
    seed: int,
    checkpoint_seconds: float,
) -> None:
    """Give `network` what its parameters `learning`, by name, learn in `phase`.

    What is finished in the folder is loaded, what was begun there goes on.
    """
    with alone(folder):
        if _restored(network, learning, folder / KIND):
            return
        work = Workplace(folder, resume=True, checkpoint_seconds=checkpoint_seconds)
        _discard_damaged(folder / "checkpoint")
        run_phases(ModuleNetwork(network), [phase(work)], seed=seed, work=work)
        with writing(folder / KIND, kind=KIND, overwrite=True) as kept:
            kept.tensors("weights", weights_of(network, learning))
        shutil.rmtree(folder / "checkpoint", ignore_errors=True)


def _restored(network: nn.Module, learning: Mapping[str, torch.Tensor], kept: Path) -> bool:
    """Whether there was a finished training, whose weights the network has now."""
    if not kept.exists():
        return False
    try:
        shapes = {name: tuple(parameter.shape) for name, parameter in learning.items()}
        weights = open_folder(kept, kind=KIND).tensors("weights", shapes=shapes)
    except TailwrightError as problem:
        log.warning("tuned anew: %s", problem)
        shutil.rmtree(kept, ignore_errors=True)
        return False
    put_weights(network, weights)
    return True


def _discard_damaged(checkpoint: Path) -> None:
    if checkpoint.exists():
        try:
            open_folder(checkpoint, kind="checkpoint")
        except TailwrightError as problem:
            log.warning("tuned from the start: %s", problem)
            shutil.rmtree(checkpoint, ignore_errors=True)
