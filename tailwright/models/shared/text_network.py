"""What text classifiers have in common: a network that reads tokens, and the phase that trains a flat one.

A flat network scores all labels at once: an encoder and an `Output` on it. Others (trees, groups) are
`TextNetwork`s too and have phases of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import numpy as np
import torch

from tailwright.data.dataset import Dataset
from tailwright.data.text.sequences import TokenBatch, TokenRows
from tailwright.encoders.reading import Read, RowReader, TextEncoder, read
from tailwright.encoders.row_table import RowTable
from tailwright.encoders.token_batches import bucketed_order, chunks, put_back
from tailwright.evaluation.ranking import TopK
from tailwright.heads.batch_targets import TargetRows
from tailwright.models.shared.text_output import Output
from tailwright.progress import Advance
from tailwright.training.phases import Phase, Plan
from tailwright.training.weights import Arrays

TOKENS_A_PASS = 1 << 12  # that a network reads at once when it answers
ROWS_A_PASS = 256


class TextNetwork(ABC):
    """A network that is asked for the labels of rows of tokens."""

    @abstractmethod
    def parts(self) -> Mapping[str, RowTable | torch.Tensor]:
        """All that is learnt, and what is frozen, by name."""

    @abstractmethod
    def to(self, device: torch.device) -> None:
        """Moves the weights; the parts stay the same objects."""

    @abstractmethod
    def top_k(self, batch: TokenBatch, k: int) -> TopK:
        """The k best labels of each row with their log-odds, as the weights are now."""

    def answer(self, tokens: TokenRows, k: int, advance: Advance = lambda rows: None) -> TopK:
        """The k best labels of all rows, batch by batch; `advance` is told how many are done."""
        return answered(tokens.lengths, lambda rows: self.top_k(tokens.batch(rows), k), k, advance)

    def vectors(self, tokens: TokenRows) -> np.ndarray | None:
        """(rows, width) float32: what the network makes of each text; None where that is no vector."""
        return None


class FlatNetwork(TextNetwork):
    """An encoder, and an output over all labels."""

    def __init__(self, encoder: TextEncoder, output: Output) -> None:
        self.encoder, self.output = encoder, output

    def parts(self) -> Mapping[str, RowTable | torch.Tensor]:
        return {**self.encoder.parts("encoder"), **self.output.parts("head")}

    def to(self, device: torch.device) -> None:
        self.encoder.to(device)
        for part in self.output.parts("head").values():
            if isinstance(part, torch.Tensor):  # a table stays, a batch's rows of it are moved
                part.data = part.data.to(device)

    def top_k(self, batch: TokenBatch, k: int) -> TopK:
        return self.output.top_k(read(self.encoder, batch), k)

    @torch.no_grad()
    def vectors(self, tokens: TokenRows) -> np.ndarray:
        """What the encoder gives; of one that gives a vector a token, their mean."""
        groups = chunks(tokens.lengths, TOKENS_A_PASS, ROWS_A_PASS)
        found = [_mean(read(self.encoder, tokens.batch(rows))).cpu().numpy() for rows in groups]
        return put_back(groups, found) if found else np.empty((0, self.encoder.width), dtype=np.float32)


def _mean(found: Read) -> torch.Tensor:
    """(rows, width): the mean of the vectors of each text, or the vector itself."""
    if found.mask is None:
        return found.states
    inside = found.mask[..., None]  # (rows, tokens, 1)
    return (found.states * inside).sum(1) / inside.sum(1)


@torch.no_grad()
def answered(
    lengths: np.ndarray,
    top_k: Callable[[np.ndarray], TopK],
    k: int,
    advance: Advance = lambda rows: None,
) -> TopK:
    """What `top_k` says of rows of these lengths, asked for groups of similar length, in their order."""
    groups = chunks(lengths, TOKENS_A_PASS, ROWS_A_PASS)
    found = []
    for rows in groups:
        found.append(top_k(rows))
        advance(len(rows))
    if not found:
        return TopK(np.empty((0, k), dtype=np.int32), np.empty((0, k), dtype=np.float32))
    ids, scores = (put_back(groups, [getattr(top, what) for top in found]) for what in ("ids", "scores"))
    return TopK(ids, scores)


class FlatPhase(Phase):
    """Trains a flat network on rows, batches being of rows of similar length."""

    def __init__(
        self,
        name: str,
        reader: RowReader,
        output: Output,
        data: Dataset,
        plan: Plan,
        *,
        device: torch.device,
        validate: Callable[[], float] | None = None,
        watch: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        super().__init__(name, len(data), plan)
        self.reader, self.output, self.targets = reader, output, TargetRows(data, device)
        self._validate, self._watch = validate, watch

    def prepare(self, epoch: int, seed: int) -> Arrays:
        order = bucketed_order(self.reader.lengths, self.plan.batch, seed, self.name, epoch)
        return {"order": order}

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        return self.output.loss(self.reader(rows, random), self.targets(rows), random)

    def validate(self) -> float | None:
        return None if self._validate is None else self._validate()

    def watched(self) -> Mapping[str, float]:
        return self._watch()
