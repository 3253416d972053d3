"""`Infilling`: a T5 learns a prompt on the corpus and rewrites rows by filling blanks in their texts."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tailwright.augmentation import Forecast
from tailwright.data.corpus import Corpus
from tailwright.language.corruption import corruption_loss
from tailwright.language.filling import Filler, filled_texts, rewritten
from tailwright.language.passages import Passages, label_lines
from tailwright.language.prompt_tuning import (
    PromptTuning,
    base_infiller,
    base_key,
    pretraining_plan,
    pretrains,
    prompt_plan,
)
from tailwright.language.settings import PRETRAINING_SEED
from tailwright.language.soft_prompt import PromptedT5, prompted
from tailwright.language.t5 import Infiller
from tailwright.store.shared import content_key
from tailwright.training.devices import device_of
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan
from tailwright.training.workplace import peak_rss_mb

if TYPE_CHECKING:
    from tailwright.augmentation.xda import XdaSettings

STEPS_TRIED = 3
SOURCES_TRIED = 16


@dataclass(frozen=True, eq=False)
class Infilling:
    """The work on one corpus; rows are places in its training rows.

    The weights of a T5 that learn first do not depend on the seed, as those of any pretrained one: they are
    learnt once for all seeds.
    """

    corpus: Corpus
    pretrained_on: np.ndarray  # rows that the weights learn from
    learnt: np.ndarray  # rows that the prompt learns from
    sources: np.ndarray
    settings: XdaSettings
    seed: int

    def texts(self) -> pa.LargeListArray:
        """The new texts of each source, which may be equal to it or to each other."""
        network, key = self.network()
        s = self.settings
        filler = Filler(network, self.infiller, s.filling)
        return filled_texts(
            filler, self.to_fill, copies=s.copies, share=s.mask_share, seed=self.seed, key=key
        )

    @cached_property
    def infiller(self) -> Infiller:
        """The T5 as it is before it learns from this corpus."""
        s = self.settings
        device = device_of(s.learning.device)
        return base_infiller(s.generator, self._vocabulary_texts, s.scratch, device, PRETRAINING_SEED)

    @cached_property
    def _vocabulary_texts(self) -> list[str]:
        """What the vocabulary of a new T5 is learnt from."""
        texts = self._first_characters(self.pretrained_on, self.settings.learning.read_characters)
        return [*texts.to_pylist(), *self._names]

    @cached_property
    def to_fill(self) -> Passages:
        """What is rewritten."""
        return self._passages(self.sources, self.settings.filling.characters)

    @cached_property
    def to_learn(self) -> Passages:
        """What the prompt learns from."""
        return self._passages(self.learnt, self.settings.learning.read_characters)

    @cached_property
    def to_pretrain_on(self) -> Passages:
        """What the weights learn from."""
        return self._passages(self.pretrained_on, self.settings.learning.read_characters)

    def network(self) -> tuple[PromptedT5, str]:
        """The T5 that has learnt what it is to learn, and a digest of all that it depends on."""
        s = self.settings
        network = PromptedT5(self.infiller.model, 0).to(self.infiller.model.device)
        key = base_key(s.generator, self._vocabulary_texts, s.scratch)
        if pretrains(s.generator, s.pretraining):
            tuning = self._tuning(self.to_pretrain_on, PRETRAINING_SEED, key)
            network, key = tuning.pretrained(s.pretraining), content_key(tuning.key, repr(s.pretraining))
        if s.prompt:
            tuning = self._tuning(self.to_learn, self.seed, key)
            network, key = tuning.prompt(s.tuning), content_key(tuning.key, repr(s.tuning))
        return network, key

    def _tuning(self, passages: Passages, seed: int, key: str) -> PromptTuning:
        s = self.settings
        return PromptTuning(self.infiller, passages, s.learning, share=s.mask_share, seed=seed, key=key)

    @cached_property
    def _names(self) -> list[str]:
        """What a T5 reads of the labels; nothing, if it reads none."""
        return self.corpus.labels.texts.to_pylist() if self.settings.labels_in_prompt else []

    def _passages(self, places: np.ndarray, characters: int) -> Passages:
        train, labels = self.corpus.train, self.corpus.labels
        lines = [""] * len(places)
        if self.settings.labels_in_prompt:
            # An ignored pair says nothing of a row, so its label does not stand before the text either.
            learnt = train.take(places).learnt_targets()
            lines = label_lines(
                self._names, labels.counts, learnt, self.infiller.all_tokens, self.settings.label_tokens
            )
        texts = self._first_characters(places, characters)
        return Passages(texts, pa.array(lines, pa.large_string()), train.origin.rows[places])

    def _first_characters(self, places: np.ndarray, characters: int) -> pa.LargeStringArray:
        texts = self.corpus.train.texts.take(pa.array(places)).to_pylist()
        return pa.array([first_characters(text, characters) for text in texts], pa.large_string())

    def forecast(self) -> Forecast:
        """What `texts` will take: some steps of learning and some texts are tried, and not kept."""
        s = self.settings
        start = time.perf_counter()
        network = PromptedT5(self.infiller.model, 0).to(self.infiller.model.device)
        parts: list[tuple[str, PromptedT5, Plan]] = []
        if pretrains(s.generator, s.pretraining):
            parts.append(("weights", network, pretraining_plan(s.pretraining)))
        if s.prompt:
            network = prompted(self.infiller, self.to_learn.texts.to_pylist(), s.tuning, self.seed)
            parts.append(("prompt", network.to(self.infiller.model.device), prompt_plan(s.tuning)))
        seconds = time.perf_counter() - start
        lines = []
        for part, learner, plan in parts:
            steps = plan.epochs * -(-len(self.learnt) // plan.batch)
            taken = steps * self._seconds_a_step(learner, plan)
            lines.append(f"learning: {part}, {steps:,} steps of {plan.batch} texts: {taken:,.0f} s")
            seconds += taken
        rate = self._filling_rate(network)
        rows = len(self.sources) * s.copies
        lines.append(f"filling: {rows:,} texts: {rows / rate:,.0f} s, {rate:.2g} texts a second")
        kept = sum(weight.nbytes for part, learner, _ in parts for weight in _learning(part, learner)) / 1e6
        disk = 4 * kept + s.copies * self.to_fill.texts.nbytes / 1e6
        return Forecast(len(self.sources), rows, seconds + rows / rate, peak_rss_mb(), disk, tuple(lines))

    def _seconds_a_step(self, network: PromptedT5, plan: Plan) -> float:
        data = self._tuning(self.to_learn, self.seed, "").data
        some = np.linspace(0, len(self.learnt) - 1, min(plan.batch, len(self.learnt))).astype(int).tolist()
        optimisers = ModuleOptimisers(network, plan)
        network.train()
        start = time.perf_counter()
        for step in range(STEPS_TRIED):
            corruption_loss(network, self.infiller, data.pairs(some, step)).backward()  # type: ignore[no-untyped-call]
            optimisers.step(0.0)  # the weights stay what they are
        return (time.perf_counter() - start) / STEPS_TRIED

    def _filling_rate(self, network: PromptedT5) -> float:
        """Texts a second. A T5 that has not learnt may not know where to end, so answers are cut."""
        s = self.settings
        count = min(SOURCES_TRIED, len(self.sources))
        some = self.to_fill.take(np.linspace(0, len(self.sources) - 1, count).astype(int))
        longest = min(s.filling.max_new_tokens, 4 * s.filling.blanks)
        filler = Filler(network, self.infiller, replace(s.filling, max_new_tokens=longest))
        start = time.perf_counter()
        with torch.inference_mode():
            rewritten(
                some,
                filler.answers,
                copies=s.copies,
                share=s.mask_share,
                blanks=s.filling.blanks,
                seed=self.seed,
            )
        return count * s.copies / (time.perf_counter() - start)


def _learning(part: str, network: PromptedT5) -> list[torch.Tensor]:
    return list(network.t5.parameters()) if part == "weights" else [network.prompt]


def first_characters(text: str, count: int) -> str:
    """The first characters of a text with single spaces, without a word that would be cut in two.

    >>> first_characters("one  two three", 10)
    'one two'
    """
    text = " ".join(text.split())
    if len(text) <= count:
        return text
    cut = text[:count]
    whole = cut if text[count] == " " else cut.rpartition(" ")[0]
    return (whole or cut).rstrip()
