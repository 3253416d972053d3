"""Span corruption: a T5, or the prompt of a frozen one, learns to fill the blanks of the corpus's own texts.

In each epoch every text gets new blanks, drawn from the stream of its row. Targets have no closing sentinel,
as in XDA and unlike in T5's own pretraining. What a source that is too long has lost is not asked for either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
import torch
from torch import nn

from tailwright.encoders.dropout import torch_draws_from
from tailwright.encoders.token_batches import bucketed_order
from tailwright.language.masking import MaskedText, Words, drawn_blanks
from tailwright.language.passages import Passages
from tailwright.language.soft_prompt import PromptedT5, padded_tokens
from tailwright.language.t5 import Infiller
from tailwright.streams import stream
from tailwright.training.named_arrays import Arrays
from tailwright.training.phases import Phase, Plan

_IGNORED = -100  # no loss at these places


@dataclass(frozen=True, eq=False)
class Corruption:
    """Passages as sources and targets, with other blanks in each epoch."""

    infiller: Infiller
    passages: Passages
    share: float  # of the words
    longest: int  # tokens of a source, and of a target
    seed: int

    def pairs(self, rows: Sequence[int], epoch: int) -> list[tuple[list[int], list[int]]]:
        """(source, target) of the passages at these places."""
        most = len(self.infiller.sentinels)
        masked = []
        for place in rows:
            words = Words.of(self.passages.texts[place].as_py())
            random = stream(self.seed, f"span corruption/{epoch}", int(self.passages.rows[place]))
            masked.append(MaskedText(words, drawn_blanks(len(words), self.share, random)[:most]))
        segments = [text.segments(range(len(text.blanks))) for text in masked]
        sources = self.infiller.sources([self.passages.labels[place].as_py() for place in rows], segments)
        sources = [source[: self.longest] for source in sources]
        sentinels = set(self.infiller.sentinels)
        # Blanks are numbered from the left, so those that are left in a source that was cut are the first.
        left = [sum(token in sentinels for token in source) for source in sources]
        values = [text.values[:count] for text, count in zip(masked, left, strict=True)]
        targets = [target[: self.longest] for target in self.infiller.targets(values)]
        return list(zip(sources, targets, strict=True))


class CorruptionPhase(Phase):
    """Filling blanks, as a phase of training; the plan says which parameters learn."""

    def __init__(self, name: str, network: PromptedT5, data: Corruption, plan: Plan) -> None:
        super().__init__(name, len(data.passages), plan)
        self.network, self.data = network, data
        self.lengths = pc.utf8_length(data.passages.texts).to_numpy()

    def prepare(self, epoch: int, seed: int) -> Arrays:
        order = bucketed_order(self.lengths, self.plan.batch, seed, self.name, epoch)
        return {"order": order, "epoch": np.array([epoch])}

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        """The mean loss of the targets' tokens."""
        self.network.train()
        pairs = self.data.pairs(rows.tolist(), int(epoch["epoch"][0]))
        with torch_draws_from(random, self.network.prompt.device):  # dropout
            return corruption_loss(self.network, self.data.infiller, pairs)


def corruption_loss(
    network: PromptedT5, infiller: Infiller, pairs: Sequence[tuple[list[int], list[int]]]
) -> torch.Tensor:
    """The mean cross-entropy of the targets' tokens, given their sources."""
    device = network.prompt.device
    tokens, mask = padded_tokens([source for source, _ in pairs], infiller.pad, device)
    read, _ = padded_tokens([[infiller.start, *target[:-1]] for _, target in pairs], infiller.pad, device)
    written, _ = padded_tokens([target for _, target in pairs], _IGNORED, device)
    logits = network(tokens, mask, read)  # (rows, tokens, vocabulary)
    return nn.functional.cross_entropy(logits.flatten(0, 1), written.flatten(), ignore_index=_IGNORED)
