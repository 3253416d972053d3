"""The phase that trains a `TokenNetwork`: the batch door before its forward pass, the hidden door inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np
import torch

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.dataset import Dataset
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing, TokenMixing
from tailwright.encoders.reading import RowReader, TokenReader
from tailwright.encoders.token_batches import bucketed_order
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.training.batches import BatchDrawer, BatchMix, DrawnBatch
from tailwright.training.hidden_door import HiddenDoor
from tailwright.training.named_arrays import Arrays
from tailwright.training.phases import Phase, Plan


class Order(Protocol):
    """The order in which an epoch goes through rows with these lengths."""

    def __call__(self, lengths: np.ndarray, batch: int, seed: int, phase: str, epoch: int) -> np.ndarray: ...


class TokenPhase(Phase):
    """Trains a network on rows; the rows of a batch are of similar length, unless `order` says otherwise.

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
        mixes: Sequence[BatchMix] = (),
        door: HiddenDoor | None = None,
        begin: int = 0,
        order: Order = bucketed_order,
        parts: Sequence[np.ndarray] = (),
        key: Callable[[], str] | None = None,
        validate: Callable[[], float] | None = None,
        watch: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        super().__init__(name, len(data), plan, validate=validate, watch=watch, key=key)
        self.network, self.reader, self.draw = network, reader, BatchDrawer(data, mixes)
        self.door, self.begin, self.order, self.parts = door or HiddenDoor(), begin, order, parts

    def prepare(self, epoch: int, seed: int) -> Arrays:
        lengths, batch = self.reader.lengths, self.plan.batch
        if self.parts:
            order = np.concatenate(
                [
                    rows[self.order(lengths[rows], batch, seed, f"{self.name}/{number}", epoch)]
                    for number, rows in enumerate(self.parts)
                ]
            )
        else:
            order = self.order(lengths, batch, seed, self.name, epoch)
        return {"order": order, "epoch": np.array([self.begin + epoch])}

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        batch = self.draw(rows, random)
        passes = self.door.passes(batch.targets, epoch=int(epoch["epoch"][0]), random=random)
        with drawing_from(random):
            losses = [self.loss_of_pass(batch, mixing, random) for mixing in passes]
        return losses[0] if len(losses) == 1 else torch.stack(losses).mean()

    def stand_by(self) -> None:
        weight = self.network.head.weight
        nothing = Encoded(weight.new_zeros(0, weight.shape[1]), None)
        self.network.head(nothing, self.draw.targets(np.empty(0, dtype=np.int64)))

    def loss_of_pass(
        self, batch: DrawnBatch, mixing: Mixing | None, random: np.random.Generator
    ) -> torch.Tensor:
        """The loss of one forward pass of a batch."""
        encoded, learnt = self.read(batch, mixing, random)
        loss: torch.Tensor = self.network(encoded, learnt, mixing=mixing)
        return loss

    def read(
        self, batch: DrawnBatch, mixing: Mixing | None, random: np.random.Generator
    ) -> tuple[Encoded, BatchTargets]:
        """The rows as the encoder reads them, and what they learn."""
        learnt = batch.targets if mixing is None else mixing.targets
        if not isinstance(self.reader, TokenReader):
            return self.reader(batch.rows, mixing), learnt
        encoder, tokens = self.reader.encoder, self.reader.batch(batch.rows, batch.appended)
        if mixing is None or mixing.point != "tokens":
            return encoder(tokens, mixing), learnt
        replaced, learnt = cast(TokenMixing, mixing).replaced_tokens(
            tokens, encoder.specials, lambda: self.saliency(batch, random)
        )
        return encoder(replaced), learnt

    def saliency(self, batch: DrawnBatch, random: np.random.Generator) -> np.ndarray:
        """(rows, tokens): the size of the gradient of each embedding, beside the largest of its row."""
        leaf = _Leaf(batch.targets)
        loss = self.loss_of_pass(batch, leaf, random)
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
