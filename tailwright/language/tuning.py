"""`tuned_generator`: a language model tuned on pairs of texts, once; after a kill it continues."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from tailwright.code_version import code_version
from tailwright.encoders.dropout import torch_draws_from
from tailwright.encoders.token_batches import bucketed_order, chunks
from tailwright.errors import InputError
from tailwright.language.adapting import SCRATCH, Adapted, adapted, untuned
from tailwright.language.generator import Generator
from tailwright.language.learning import learn_once
from tailwright.language.pairs import Sequences, TextPairs, padded, sequences_of
from tailwright.language.settings import TuningSettings
from tailwright.language.work import work_folder
from tailwright.pretrained import identity_of, weights_folder
from tailwright.store.shared import content_key
from tailwright.training.named_arrays import Arrays
from tailwright.training.phases import Phase, Plan
from tailwright.training.schedules import Schedule
from tailwright.training.workplace import Workplace


def tuned_generator(name: str, pairs: TextPairs, settings: TuningSettings, *, seed: int) -> Generator:
    """The model called `name` (`scratch`, or a name that `weights_folder` takes) after tuning on the pairs.

    The same call again loads what is finished, and continues what is not.
    """
    if len(pairs) == 0:
        raise InputError("no pairs to tune a generator on", expected="at least one")
    model = adapted(untuned(name, pairs, settings, seed), settings, seed)
    # Random weights have further to go than pretrained ones.
    rate = settings.scratch_rate if name == SCRATCH else settings.rate
    learn_once(
        tuning_folder(name, pairs, settings, seed=seed),
        model.model,
        model.learning,
        lambda work: _phase(model, pairs, dataclasses.replace(settings, rate=rate), seed, work),
        seed=seed,
        checkpoint_seconds=settings.checkpoint_seconds,
    )
    return model.tuned()


def generator_key(name: str, pairs: TextPairs, settings: TuningSettings, *, seed: int) -> str:
    """A digest of all that the tuned generator depends on."""
    # When checkpoints are taken makes no difference to what is learnt.
    timeless = dataclasses.replace(settings, checkpoint_seconds=0)
    identity = SCRATCH if name == SCRATCH else identity_of(weights_folder(name))
    version = code_version(["tailwright.language.tuning"])
    return content_key(pairs.sources, pairs.targets, repr(timeless), seed, identity, version)


def tuning_folder(name: str, pairs: TextPairs, settings: TuningSettings, *, seed: int) -> Path:
    """The work folder of this generator."""
    return work_folder("generator", generator_key(name, pairs, settings, seed=seed))


def _phase(
    adapted: Adapted, pairs: TextPairs, settings: TuningSettings, seed: int, work: Workplace
) -> _Tuning:
    learnt, held = pairs.split(settings.held_out, seed)
    train = sequences_of(adapted.generator, learnt, longest=settings.max_tokens)
    valid = sequences_of(adapted.generator, held, longest=settings.max_tokens)
    work.log(
        "pairs",
        train=len(train),
        held_out=len(valid),
        tokens=len(train.tokens),
        cut=train.cut + valid.cut,
        trained_weights=sum(parameter.numel() for parameter in adapted.learning.values()),
    )
    return _Tuning(adapted, train, valid, settings)


class _Tuning(Phase):
    """The one phase of tuning: all parameters, one rate, batches of similar length."""

    def __init__(
        self, adapted: Adapted, train: Sequences, valid: Sequences, settings: TuningSettings
    ) -> None:
        plan = Plan(
            epochs=settings.epochs,
            batch=settings.batch,
            rates=dict.fromkeys(adapted.learning, settings.rate),
            schedule=Schedule("linear", warmup=settings.warmup),
            weight_decay=settings.weight_decay,
            clip=settings.clip,
            patience=settings.patience,
        )
        super().__init__("tune", len(train), plan)
        self.model, self.train, self.valid, self.settings = adapted.model, train, valid, settings
        self.device = adapted.generator.model.device

    def prepare(self, epoch: int, seed: int) -> Arrays:
        return {"order": bucketed_order(self.train.lengths, self.plan.batch, seed, "generator", epoch)}

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        """The mean loss of the tokens to be predicted; gradients are added chunk by chunk."""
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
            loss = token_loss(self.model, tokens.to(self.device), predicted.to(self.device)) / count
            if learn:
                loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        return total


def token_loss(model: Any, tokens: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
    """The summed cross-entropy of the tokens (rows, length) that `predicted` marks, given those before them.

    A model computes logits over its whole vocabulary at every position: for SmolLM2, whose vocabulary is 85
    times as wide as its layers, that is a good share of the work, and most of it would be for the source,
    which gives no loss. So the output layer sees the marked positions alone. What the model does before and
    after that layer, such as scaling or capping logits, stays its own business.
    """
    marked = predicted[:, 1:]
    with _output_at(model, marked):
        logits = model(input_ids=tokens, use_cache=False).logits  # (marked tokens, vocabulary)
    return nn.functional.cross_entropy(logits.float(), tokens[:, 1:][marked], reduction="sum")


@contextmanager
def _output_at(model: Any, marked: torch.Tensor) -> Iterator[None]:
    """Until the block ends, the output layer sees (marked, width) instead of (rows, length, width)."""
    layer = model.get_output_embeddings()
    if layer is None:
        raise InputError(f"{type(model).__name__} has no output layer", expected="a causal language model")

    def cut(_: nn.Module, hidden: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        return (hidden[0][:, :-1][marked],)

    handle = layer.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()
