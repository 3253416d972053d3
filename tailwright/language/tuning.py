"""`tuned_generator`: a language model tuned on pairs of texts, once; killed at any moment, it goes on.

The work folder of a generator:

| in the folder | holds |
|---|---|
| `log.jsonl` | epochs with losses, seconds and peak memory |
| `checkpoint/` | where an unfinished tuning is; about four times the weights, removed in the end |
| `generator/` | what was learnt: all weights, or with LoRA the small matrices alone |
"""

from __future__ import annotations

import dataclasses
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from tailwright.code_version import code_version
from tailwright.encoders.dropout import torch_draws_from
from tailwright.encoders.token_batches import bucketed_order, chunks
from tailwright.errors import InputError, TailwrightError
from tailwright.language.adapting import SCRATCH, Adapted, adapted, untuned
from tailwright.language.generator import Generator
from tailwright.language.pairs import TextPairs
from tailwright.language.sequences import Sequences, padded, sequences_of
from tailwright.language.token_loss import token_loss
from tailwright.language.tuning_settings import TuningSettings
from tailwright.language.work import alone, work_folder
from tailwright.pretrained import identity_of, weights_folder
from tailwright.store import open_folder, writing
from tailwright.store.shared import content_key
from tailwright.training.loop import run_phases
from tailwright.training.phases import Phase, Plan
from tailwright.training.weights import Arrays
from tailwright.training.schedules import Schedule
from tailwright.training.workplace import Workplace

__all__ = ["TuningSettings", "generator_key", "tuned_generator", "tuning_folder"]

log = logging.getLogger(__name__)

KIND = "generator"


def tuned_generator(name: str, pairs: TextPairs, settings: TuningSettings, *, seed: int) -> Generator:
    """The model called `name` (`scratch`, or what `weights_folder` takes) after tuning on the pairs.

    The same call loads what an earlier one has finished, and goes on with what an earlier one has begun.
    """
    if len(pairs) == 0:
        raise InputError("no pairs to tune a generator on", expected="at least one")
    folder = work_folder("generator", generator_key(name, pairs, settings, seed=seed))
    with alone(folder):
        model = adapted(untuned(name, pairs, settings, seed), settings, seed)
        if not _taken_in(model.parts, folder / KIND):
            _tune(model, pairs, _for(name, settings), seed, folder)
            with writing(folder / KIND, kind=KIND, overwrite=True) as kept:
                kept.tensors("parts", {part: w.detach().cpu().numpy() for part, w in model.parts.items()})
            shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    return model.tuned()


def generator_key(name: str, pairs: TextPairs, settings: TuningSettings, *, seed: int) -> str:
    """A digest of all that the tuned generator depends on."""
    # When checkpoints are taken makes no difference to what is learnt.
    timeless = dataclasses.replace(settings, checkpoint_seconds=0)
    identity = SCRATCH if name == SCRATCH else identity_of(weights_folder(name))
    version = code_version(["tailwright.language.tuning"])
    return content_key(pairs.sources, pairs.targets, repr(timeless), seed, identity, version)


def tuning_folder(name: str, pairs: TextPairs, settings: TuningSettings, *, seed: int) -> Path:
    """Where the log and the weights of this generator are kept."""
    return work_folder("generator", generator_key(name, pairs, settings, seed=seed))


def _for(name: str, settings: TuningSettings) -> TuningSettings:
    """Random weights have further to go than pretrained ones, and a rate of their own."""
    return dataclasses.replace(settings, rate=settings.scratch_rate) if name == SCRATCH else settings


def _taken_in(parts: Mapping[str, torch.Tensor], kept: Path) -> bool:
    """Whether a finished generator was there, whose weights the parts now have."""
    if not kept.exists():
        return False
    try:
        shapes = {name: tuple(part.shape) for name, part in parts.items()}
        found = open_folder(kept, kind=KIND).tensors("parts", shapes=shapes)
    except TailwrightError as problem:
        log.warning("tuned anew: %s", problem)
        shutil.rmtree(kept, ignore_errors=True)
        return False
    with torch.no_grad():
        for name, part in parts.items():
            part.copy_(torch.from_numpy(found[name]))
    return True


def _tune(adapted: Adapted, pairs: TextPairs, settings: TuningSettings, seed: int, folder: Path) -> None:
    learnt, held = pairs.split(settings.held_out, seed)
    generator = adapted.generator
    train = sequences_of(generator, learnt, longest=settings.max_tokens)
    valid = sequences_of(generator, held, longest=settings.max_tokens)
    work = Workplace(folder, resume=True, checkpoint_seconds=settings.checkpoint_seconds)
    _discard_damaged(folder / "checkpoint")
    work.log(
        "pairs",
        train=len(train),
        held_out=len(valid),
        tokens=len(train.tokens),
        cut=train.cut + valid.cut,
        trained_weights=sum(part.numel() for part in adapted.parts.values()),
    )
    run_phases(adapted.parts, [_Tuning(adapted, train, valid, settings)], seed=seed, work=work)


def _discard_damaged(checkpoint: Path) -> None:
    if checkpoint.exists():
        try:
            open_folder(checkpoint, kind="checkpoint")
        except TailwrightError as problem:
            log.warning("tuned from the start: %s", problem)
            shutil.rmtree(checkpoint, ignore_errors=True)


class _Tuning(Phase):
    """The one phase of tuning: all parts, one rate, batches of similar length."""

    def __init__(
        self, adapted: Adapted, train: Sequences, valid: Sequences, settings: TuningSettings
    ) -> None:
        plan = Plan(
            epochs=settings.epochs,
            batch=settings.batch,
            rates=dict.fromkeys(adapted.parts, settings.rate),
            schedule=Schedule("linear", warmup=settings.warmup),
            weight_decay=settings.weight_decay,
            clip=settings.clip,
            patience=settings.patience,
        )
        super().__init__("tune", len(train), plan)
        self.model, self.train, self.valid, self.settings = adapted.model, train, valid, settings
        self.device = next(iter(adapted.parts.values())).device

    def prepare(self, epoch: int, seed: int) -> Arrays:
        return {"order": bucketed_order(self.train.lengths, self.plan.batch, seed, "generator", epoch)}

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        """The mean loss of the tokens to be predicted; gradients are left in the parts, chunk by chunk."""
        self.model.train()
        with torch_draws_from(random, self.device):  # dropout
            return self._mean(self.train, rows, learn=True)

    def validate(self) -> float | None:
        if len(self.valid) == 0:
            return None
        self.model.eval()
        with torch.no_grad():
            return -float(self._mean(self.valid, np.arange(len(self.valid)), learn=False))

    def _mean(self, data: Sequences, rows: np.ndarray, *, learn: bool) -> torch.Tensor:
        whole = self.settings.loss == "sequence"
        batches = [
            padded(data, rows[places], whole=whole)
            for places in chunks(data.lengths[rows], self.settings.step_tokens)
        ]
        count = max(sum(int(predicted[:, 1:].sum()) for _, predicted in batches), 1)
        total = torch.zeros((), device=self.device)
        for tokens, predicted in batches:
            part = token_loss(self.model, tokens.to(self.device), predicted.to(self.device)) / count
            if learn:
                part.backward()  # type: ignore[no-untyped-call]
            total += part.detach()
        return total
