"""Loss and gradients of a head in one go over blocks of labels, so that nothing of all labels is ever alive.

A block is scored, its loss and slopes are taken, and the slopes are pulled back to the head's tensors before
the next block begins. What stays are the gradients, each of the size of its tensor. They are made along with
the loss and wait for `backward`, which costs nothing more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import torch

from tailwright.evaluation.ranking import TopK
from tailwright.heads.batch_targets import BatchTargets, BlockLoss
from tailwright.heads.columns import Columns
from tailwright.heads.running_top_k import RunningTopK

Mean: TypeAlias = Literal["pairs", "rows"]


class HeadPass(ABC):
    """A head at work on one batch.

    `tensors` are what it reads, then the head's own; `wanted` says which of them need a gradient. `tables`
    are the places of those among them that have a row a label.
    """

    scale = 1.0  # what slopes are multiplied with on their way into the gradients of tables

    def __init__(
        self,
        columns: Columns,
        width: int,
        tensors: Sequence[torch.Tensor],
        wanted: Sequence[bool],
        tables: Sequence[int],
    ) -> None:
        self.columns, self.width, self.tables = columns, max(width, 1), tables
        self.gradients: list[torch.Tensor | None] = []
        for place, (tensor, asked) in enumerate(zip(tensors, wanted, strict=True)):
            # Of all labels each row is written, once.
            make = torch.empty if place in tables and columns.candidates is None else torch.zeros
            precision, device = sum_precision(tensor.dtype), tensor.device
            self.gradients.append(make(tensor.shape, dtype=precision, device=device) if asked else None)

    @abstractmethod
    def scores(self, start: int, end: int) -> torch.Tensor:
        """(batch, block): the scores of these columns."""

    @abstractmethod
    def pull(self, slopes: torch.Tensor) -> None:
        """Add the gradients of the block scored last, given the slopes (batch, block) of its scores.

        What `scores` kept for this may be overwritten.
        """

    def add_to_table(self, place: int, start: int, end: int, slopes: torch.Tensor) -> None:
        """Add slopes of a block's labels to the gradient of the table at that place, if it is wanted."""
        gradient = self.gradients[place]
        if gradient is not None:
            self.columns.put(gradient, start, end, slopes, self.scale)


MakePass: TypeAlias = Callable[[Sequence[torch.Tensor], Sequence[bool]], HeadPass]


def loss_in_blocks(
    make: MakePass, tensors: Sequence[torch.Tensor], targets: BatchTargets, mean: Mean
) -> torch.Tensor:
    """Binary cross-entropy over all columns.

    `mean` "pairs" divides the sum by the number of scores (of rows times labels, as papers have it; of the
    lists' entries where rows have lists), "rows" by the number of rows. Ignored pairs and weights leave the
    divisor as it is.
    """
    if mean not in get_args(Mean):
        raise ValueError(f"mean must be one of {', '.join(get_args(Mean))}, got {mean!r}")
    # Inside of a Function nothing says any more whether a graph is wanted.
    wanted = [tensor.requires_grad and torch.is_grad_enabled() for tensor in tensors]
    loss: torch.Tensor = _InBlocks.apply(make, wanted, targets, mean, *tensors)  # type: ignore[no-untyped-call]
    return loss


@torch.no_grad()
def scores_in_blocks(make: MakePass, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """(batch, columns): all scores, without a graph; minus infinity where a list is padded."""
    work = make(tensors, [False] * len(tensors))
    columns = work.columns
    parts = [work.scores(start, end) for start, end in columns.blocks(work.width)]
    found = torch.cat(parts, 1) if parts else tensors[0].new_empty(columns.rows, 0)
    rows, places = columns.padding()
    return found.index_put_((rows, places), found.new_tensor(-torch.inf))


@torch.no_grad()
def top_k_in_blocks(make: MakePass, tensors: Sequence[torch.Tensor], k: int) -> TopK:
    """The k best of all labels of each row, equal scores by smaller label."""
    work = make(tensors, [False] * len(tensors))
    best = RunningTopK(work.columns.rows, k)
    for start, end in work.columns.blocks(work.width):
        scores: np.ndarray = work.scores(start, end).cpu().numpy()
        best.add(scores, start)
    return best.found


class _InBlocks(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        make: MakePass,
        wanted: Sequence[bool],
        targets: BatchTargets,
        mean: Mean,
        *tensors: torch.Tensor,
    ) -> torch.Tensor:
        # Products are in the precision of the hidden states; autocast would choose again for every block.
        with torch.autocast(tensors[0].device.type, enabled=False):
            work = make([tensor.detach() for tensor in tensors], wanted)
            columns = work.columns
            loss_of = BlockLoss(targets, columns)
            # Slopes of single pairs are of the order of 1 and fit float16; only their sums are divided.
            work.scale = 1 / max(columns.pairs if mean == "pairs" else columns.rows, 1)
            total = torch.zeros((), dtype=torch.float64, device=tensors[0].device)
            for start, end in columns.blocks(work.width):
                value, slopes = loss_of(work.scores(start, end), start, end)
                total += value
                if any(wanted):
                    work.pull(slopes)
            for place, gradient in enumerate(work.gradients):
                if gradient is not None and place not in work.tables:
                    gradient.mul_(work.scale)
        context.save_for_backward(*work.gradients)
        context.precisions = [tensor.dtype for tensor in tensors]
        return (total * work.scale).to(sum_precision(tensors[0].dtype))

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        factor = float(gradients[0])
        found = []
        for slopes, precision in zip(context.saved_tensors, context.precisions, strict=True):
            if slopes is not None and factor != 1:
                slopes = slopes * factor
            found.append(None if slopes is None else slopes.to(precision))
        return None, None, None, None, *found


def sum_precision(precision: torch.dtype) -> torch.dtype:
    """What sums are kept in: float32, or float64 where that is given."""
    return torch.promote_types(precision, torch.float32)
