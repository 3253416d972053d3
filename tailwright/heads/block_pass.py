"""One pass of a head over the blocks of a batch, and the loss with its gradients that comes of it.

The logits of a block are computed, then their loss and its gradient, and the gradient is taken back to the
head's tensors before the next block begins, so nothing of the size of batch times labels is ever alive. The
gradients, each of the size of its tensor, are made along with the loss and wait for `backward`, which costs
nothing more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from tailwright.encoders.encoded import Encoded
from tailwright.heads.block_loss import BlockLoss, sum_dtype
from tailwright.heads.columns import Columns
from tailwright.heads.mix_points import BlockMixing


@dataclass(frozen=True, eq=False)
class HeadBatch:
    """What a pass is over, besides its tensors."""

    encoded: Encoded
    columns: Columns
    mixing: BlockMixing


class BlockPass(ABC):
    """A head at work on one batch.

    `tensors` are the hidden states, then `tables` with a row for each label, then what all labels share;
    `wanted` says which of them need a gradient. A block has `size` labels.
    """

    scale = 1.0  # of gradients on their way into those of tables

    def __init__(
        self,
        batch: HeadBatch,
        tensors: Sequence[torch.Tensor],
        wanted: Sequence[bool],
        *,
        tables: int,
        size: int,
    ) -> None:
        self.columns, self.mixing, self.size = batch.columns, batch.mixing, size
        self.tables, all_labels = range(1, tables + 1), batch.columns.candidates is None
        self.gradients: list[torch.Tensor | None] = []
        for place, (tensor, asked) in enumerate(zip(tensors, wanted, strict=True)):
            # Where the columns are all labels, each row of a table is written exactly once.
            make = torch.empty if place in self.tables and all_labels else torch.zeros
            dtype, device = sum_dtype(tensor.dtype), tensor.device
            self.gradients.append(make(tensor.shape, dtype=dtype, device=device) if asked else None)

    @abstractmethod
    def logits(self, start: int, end: int) -> torch.Tensor:
        """(batch, block): the logits of these columns."""

    @abstractmethod
    def backward(self, start: int, end: int, gradient: torch.Tensor) -> None:
        """Add the gradients of the block scored last, given that of its logits (batch, block).

        What `logits` kept for this may be overwritten.
        """

    def add_to_table(self, place: int, start: int, end: int, gradient: torch.Tensor) -> None:
        """Add the gradient of a block's labels to that of the tensor at that place, if it is wanted."""
        total = self.gradients[place]
        if total is not None:
            self.columns.put(total, start, end, gradient, self.scale)


NewPass: TypeAlias = Callable[[Sequence[torch.Tensor], Sequence[bool]], BlockPass]


class LossWithGradients(torch.autograd.Function):
    """A loss whose `forward` saves the gradient of each tensor, None for some; the tensors come last."""

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        factor = float(gradients[0])
        scaled = [
            # Parameters take a tensor of its own as their gradient, but copy one that is saved here.
            None if gradient is None else gradient.detach() if factor == 1 else gradient * factor
            for gradient in context.saved_tensors
        ]
        return *[None] * (len(context.needs_input_grad) - len(scaled)), *scaled


class LossInBlocks(LossWithGradients):
    """`scale` times the sum of the loss over all blocks, with a graph to the tensors that are wanted."""

    @staticmethod
    def forward(
        context: Any,
        new_pass: NewPass,
        wanted: Sequence[bool],
        loss: BlockLoss,
        scale: float,
        *tensors: torch.Tensor,
    ) -> torch.Tensor:
        # Products are in the precision of the hidden states; autocast would choose again for every block.
        with torch.autocast(tensors[0].device.type, enabled=False):
            work = new_pass([tensor.detach() for tensor in tensors], wanted)
            # Gradients of single pairs are of the order of 1 and fit float16; only their sums are scaled.
            work.scale = scale
            total = torch.zeros((), dtype=torch.float64, device=tensors[0].device)
            for start, end in work.columns.blocks(work.size):
                value, of_logits = loss(work.logits(start, end), start, end)
                total += value
                if any(wanted):
                    work.backward(start, end, of_logits)
            for place, gradient in enumerate(work.gradients):
                if gradient is not None and place not in work.tables:
                    gradient.mul_(scale)
        context.save_for_backward(*work.gradients)
        return (total * scale).to(sum_dtype(tensors[0].dtype))
