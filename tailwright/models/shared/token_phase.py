"""The phase that trains a `TokenNetwork`, with the hidden door in its forward pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import torch

from tailwright.data.batch_targets import BatchTargets, TargetRows
from tailwright.data.dataset import Dataset
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing, TokenMixing
from tailwright.encoders.reading import RowReader, TokenReader
from tailwright.encoders.token_batches import bucketed_order
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.training.hidden_door import HiddenDoor
from tailwright.training.phases import Phase, Plan
from tailwright.training.weights import Arrays


class TokenPhase(Phase):
    """Trains a network on rows; the rows of a batch are of similar length.

    Where mixes begin later, a training is cut into several phases; `begin` is the epoch at which this starts.
    An epoch goes through all rows at once, or through `parts` of them, places of rows, one after the other;
    the batch at the border may hold rows of both.
    """

    def __init__(
        self,
        name: str,
        network: TokenNetwork,
        reader: RowReader,
        data: Dataset,
        plan: Plan,
        *,
        door: HiddenDoor | None = None,
        begin: int = 0,
        parts: Sequence[np.ndarray] = (),
        key: Callable[[], str] | None = None,
        validate: Callable[[], float] | None = None,
        watch: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        super().__init__(name, len(data), plan, validate=validate, watch=watch, key=key)
        self.network, self.reader, self.targets = network, reader, TargetRows(data)
        self.door, self.begin, self.parts = door or HiddenDoor(), begin, parts

    def prepare(self, epoch: int, seed: int) -> Arrays:
        lengths, batch = self.reader.lengths, self.plan.batch
        if self.parts:
            order = np.concatenate(
                [
                    rows[bucketed_order(lengths[rows], batch, seed, f"{self.name}/{number}", epoch)]
                    for number, rows in enumerate(self.parts)
                ]
            )
        else:
            order = bucketed_order(lengths, batch, seed, self.name, epoch)
        return {"order": order, "epoch": np.array([self.begin + epoch])}

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        targets = self.targets(rows)
        passes = self.door.passes(targets, epoch=int(epoch["epoch"][0]), random=random)
        with drawing_from(random):
            losses = [self.loss_of_pass(rows, targets, mixing, random) for mixing in passes]
        return losses[0] if len(losses) == 1 else torch.stack(losses).mean()

    def loss_of_pass(
        self, rows: np.ndarray, targets: BatchTargets, mixing: Mixing | None, random: np.random.Generator
    ) -> torch.Tensor:
        """The loss of one forward pass of a batch."""
        encoded, learnt = self.read(rows, targets, mixing, random)
        loss: torch.Tensor = self.network(encoded, learnt, mixing=mixing)
        return loss

    def read(
        self, rows: np.ndarray, targets: BatchTargets, mixing: Mixing | None, random: np.random.Generator
    ) -> tuple[Encoded, BatchTargets]:
        """The rows as the encoder reads them, and what they learn."""
        if mixing is None or mixing.point != "tokens":
            return self.reader(rows, mixing), targets if mixing is None else mixing.targets
        assert isinstance(self.reader, TokenReader)  # no other has that mix point
        encoder, batch = self.reader.encoder, self.reader.tokens.batch(rows)
        replaced, learnt = cast(TokenMixing, mixing).replaced_tokens(
            batch, encoder.specials, lambda: self.saliency(rows, targets, random)
        )
        return encoder(replaced), learnt

    def saliency(self, rows: np.ndarray, targets: BatchTargets, random: np.random.Generator) -> np.ndarray:
        """(rows, tokens): the size of the gradient of each embedding, beside the largest of its row."""
        leaf = _Leaf(targets)
        loss = self.loss_of_pass(rows, targets, leaf, random)
        (gradient,) = torch.autograd.grad(loss, leaf.embeddings)
        sizes = gradient.square().mean(-1).sqrt()  # (rows, tokens)
        return (sizes / sizes.amax(1, keepdim=True).clamp_min(1e-30)).cpu().numpy()


@dataclass(eq=False)
class _Leaf:
    """Mixes nothing, and holds the embeddings of a pass as a leaf that collects a gradient."""

    targets: BatchTargets
    point: str = "embeddings"
    embeddings: list[torch.Tensor] = field(default_factory=list)

    def activations(
        self, states: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        self.embeddings = [states.detach().requires_grad_()]
        return self.embeddings[0], mask
