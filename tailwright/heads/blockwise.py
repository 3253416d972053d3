"""`BlockwiseHead`: loss, logits and ranking over very many labels, a block of labels at a time.

The logits of a block are computed, then their loss and its gradient, and the gradient is taken back to the
head's tensors before the next block begins, so nothing of the size of all labels but their own vectors is
ever alive. The gradients, each of the size of its tensor, are made along with the loss and wait for
`backward`, which costs nothing more. As in `torch.nn.AdaptiveLogSoftmaxWithLoss`, `forward` gives the loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing
from tailwright.encoders.row_table import RowTable
from tailwright.evaluation.ranking import PADDING, TopK, top_k_of_scores
from tailwright.heads.block_loss import BlockLoss
from tailwright.heads.columns import Columns, check_candidates
from tailwright.heads.label_attention import pair_contexts, sum_dtype
from tailwright.heads.mix_points import BlockMixing, without_pairs
from tailwright.kernels.bags import number_locally

Mean: TypeAlias = Literal["pairs", "rows"]


@dataclass(frozen=True, eq=False)
class HeadBatch:
    """What a pass is over, besides its tensors."""

    encoded: Encoded
    columns: Columns
    mixing: BlockMixing


class BlockPass(ABC):
    """One pass of a head over the blocks of a batch.

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
        self.tables, columns = range(1, tables + 1), batch.columns
        self.gradients: list[torch.Tensor | None] = []
        for place, (tensor, asked) in enumerate(zip(tensors, wanted, strict=True)):
            # Where the columns are all labels, each row of a table is written exactly once.
            make = torch.empty if place in self.tables and columns.candidates is None else torch.zeros
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


@dataclass(frozen=True, eq=False)
class LabelRows:
    """The labels that a batch meets: columns over tables that hold them."""

    columns: Columns
    tables: list[torch.Tensor]  # a row for each of `labels`
    labels: np.ndarray | None  # (rows of tables,) int32, ascending; None: all

    def places(self, labels: np.ndarray) -> np.ndarray:
        """Where these labels stand in the tables, -1 for those that do not."""
        if self.labels is None:
            return labels
        if not len(self.labels):
            return np.full_like(labels, -1)
        near = np.minimum(np.searchsorted(self.labels, labels), len(self.labels) - 1)
        return np.where(self.labels[near] == labels, near, -1)


class BlockwiseHead(nn.Module, ABC):
    """A head over `labels` labels. With `sparse`, tables of labels are `RowTable`s.

    A sparse head gathers the rows of a batch's candidates, and learns these alone.
    """

    mix_points: ClassVar[tuple[str, ...]] = ()

    def __init__(self, labels: int, *, sparse: bool = False) -> None:
        super().__init__()
        self.labels, self.sparse = labels, sparse
        self._scratch = np.full(labels if sparse else 0, -1, dtype=np.int32)

    @abstractmethod
    def tables(self) -> Sequence[nn.Parameter | RowTable]:
        """The weights that have a row for each label; with label attention, its vectors first."""

    def shared(self) -> Sequence[torch.Tensor]:
        """The weights that all labels share."""
        return ()

    @abstractmethod
    def new_pass(
        self, batch: HeadBatch, tensors: Sequence[torch.Tensor], wanted: Sequence[bool]
    ) -> BlockPass:
        """A pass over tensors: the hidden states, the rows of `tables`, `shared`."""

    def logits_of_contexts(self, contexts: torch.Tensor, tables: Sequence[torch.Tensor]) -> torch.Tensor:
        """(pairs,) with a graph: the logits of context vectors (pairs, width), given their rows of tables."""
        raise NotImplementedError(f"{type(self).__name__} has no context vectors")

    def forward(
        self,
        encoded: Encoded,
        targets: BatchTargets,
        *,
        candidates: np.ndarray | None = None,
        mean: Mean = "pairs",
        mixing: Mixing | None = None,
    ) -> torch.Tensor:
        """Binary cross-entropy over all columns; `candidates` as in `columns`.

        `mean` "pairs" divides the sum by the number of logits (rows times labels, as papers have it, or the
        entries of the rows' lists), "rows" by the number of rows. Ignored pairs and weights leave the divisor
        as it is. A mixing at one of the head's `mix_points` is applied, any other is not the head's.
        """
        if mean not in get_args(Mean):
            raise ValueError(f"mean must be one of {', '.join(get_args(Mean))}, got {mean!r}")
        _check_targets(targets, len(encoded), self.labels)
        met = self._gather(encoded, candidates)
        columns, states = met.columns, encoded.states
        if met.labels is not None:
            targets = targets.among(met.labels)
        scale = 1 / max(columns.pairs if mean == "pairs" else columns.rows, 1)
        if mixing is not None and mixing.point not in self.mix_points:
            mixing = None
        of_replaced = None
        if mixing is not None and mixing.point == "pairs":
            targets, of_replaced = self._replaced(encoded, met, targets, mixing)
        elif mixing is not None and columns.per_row:
            raise ValueError(f"mixing at {mixing.point!r} needs the same labels in every row, not lists")
        tensors = [states, *met.tables, *self.shared()]
        # Inside of a Function nothing says any more whether a graph is wanted.
        wanted = [tensor.requires_grad and torch.is_grad_enabled() for tensor in tensors]
        batch = HeadBatch(encoded, columns, BlockMixing(mixing, learns=any(wanted)))
        loss_of = BlockLoss(targets, columns, states.device)
        loss: torch.Tensor = _LossInBlocks.apply(  # type: ignore[no-untyped-call]
            partial(self.new_pass, batch), wanted, loss_of, scale, *tensors
        )
        return loss if of_replaced is None else loss + of_replaced * scale

    @torch.no_grad()
    def logits(self, encoded: Encoded, candidates: np.ndarray | None = None) -> torch.Tensor:
        """(batch, columns) without a graph; minus infinity where a list is padded."""
        work = self._scoring(encoded, candidates)
        columns = work.columns
        blocks = [work.logits(start, end) for start, end in columns.blocks(work.size)]
        logits = torch.cat(blocks, 1) if blocks else encoded.states.new_empty(columns.rows, 0)
        padding = tuple(torch.from_numpy(places).to(logits.device) for places in columns.padding())
        return logits.index_put_(padding, logits.new_tensor(-torch.inf))

    @torch.no_grad()
    def top_k(self, encoded: Encoded, k: int) -> TopK:
        """The k best of all labels of each text, equal logits by smaller label."""
        work, shape = self._scoring(encoded, None), (len(encoded), k)
        best = TopK(np.full(shape, PADDING, dtype=np.int32), np.full(shape, -np.inf, dtype=np.float32))
        for start, end in work.columns.blocks(work.size):
            block = top_k_of_scores(work.logits(start, end).cpu().numpy(), k)
            ids = np.where(block.ids >= 0, block.ids + np.int32(start), PADDING)
            # Earlier blocks have smaller labels and stand in front, so equal logits go by smaller label.
            ids = np.concatenate([best.ids, ids], axis=1)
            merged = top_k_of_scores(np.concatenate([best.scores, block.scores], axis=1), k)
            best = TopK(np.take_along_axis(ids, merged.ids.astype(np.int64), axis=1), merged.scores)
        return best

    def _scoring(self, encoded: Encoded, candidates: np.ndarray | None) -> BlockPass:
        """A pass that makes logits alone."""
        met = self._gather(encoded, candidates)
        tensors = [encoded.states, *met.tables, *self.shared()]
        batch = HeadBatch(encoded, met.columns, BlockMixing(None, learns=False))
        return self.new_pass(batch, tensors, [False] * len(tensors))

    def _gather(self, encoded: Encoded, candidates: np.ndarray | None) -> LabelRows:
        """The tables' rows of the labels that a batch meets: of the candidates if sparse, else all."""
        rows, device = len(encoded), encoded.states.device
        if candidates is not None:
            check_candidates(candidates, rows, self.labels)
        if not self.sparse:
            return LabelRows(Columns(rows, self.labels, candidates, device), list(self.tables()), None)
        if candidates is None:
            labels = np.arange(self.labels, dtype=np.int32)
        else:
            listed = candidates >= 0
            labels, places = number_locally(candidates[listed].astype(np.int32), self._scratch)
            candidates = np.full(candidates.shape, -1, dtype=np.int64)
            candidates[listed] = places
        tables = [
            table(labels).to(device) if isinstance(table, RowTable) else table[_index(labels, encoded)]
            for table in self.tables()
        ]
        return LabelRows(Columns(rows, len(labels), candidates, device), tables, labels)

    def _replaced(
        self, encoded: Encoded, met: LabelRows, targets: BatchTargets, mixing: Mixing
    ) -> tuple[BatchTargets, torch.Tensor | None]:
        """The targets without the pairs that a mixing replaces, and the sum of the loss of these pairs."""

        def contexts(rows: np.ndarray, labels: np.ndarray) -> torch.Tensor:
            places, attention = met.places(labels), self.tables()[0]
            listed = np.flatnonzero(places >= 0)
            vectors = met.tables[0][_index(places[listed], encoded)]
            if isinstance(attention, RowTable) and len(listed) < len(labels):
                # A label that is no candidate in the batch is read, but not learnt.
                read = torch.from_numpy(attention.array[labels]).to(vectors)
                vectors = read.index_put((_index(listed, encoded),), vectors)
            return pair_contexts(encoded, rows, vectors)

        pairs = mixing.replaced_pairs(contexts)
        labels = met.places(pairs.labels)
        targets, learnt = without_pairs(targets, met.columns, pairs.rows, labels)
        if not len(learnt):
            return targets, None
        tables = [table[_index(labels[learnt], encoded)] for table in met.tables]
        contexts_learnt = pairs.contexts[_index(learnt, encoded)]
        logits = self.logits_of_contexts(contexts_learnt.to(sum_dtype(contexts_learnt.dtype)), tables)
        logits = logits.to(sum_dtype(logits.dtype))
        return targets, functional.binary_cross_entropy_with_logits(
            logits,
            torch.from_numpy(pairs.targets[learnt]).to(logits),
            torch.from_numpy(targets.weights[pairs.rows[learnt]]).to(logits),
            reduction="sum",
        )


class _LossInBlocks(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        new_pass: NewPass,
        wanted: Sequence[bool],
        loss_of: BlockLoss,
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
                value, gradient = loss_of(work.logits(start, end), start, end)
                total += value
                if any(wanted):
                    work.backward(start, end, gradient)
            for place, gradient in enumerate(work.gradients):
                if gradient is not None and place not in work.tables:
                    gradient.mul_(scale)
        context.save_for_backward(*work.gradients)
        context.dtypes = [tensor.dtype for tensor in tensors]
        return (total * scale).to(sum_dtype(tensors[0].dtype))

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        factor = float(gradients[0])
        scaled = []
        for gradient, dtype in zip(context.saved_tensors, context.dtypes, strict=True):
            if gradient is not None and factor != 1:
                gradient = gradient * factor
            scaled.append(None if gradient is None else gradient.to(dtype))
        return None, None, None, None, *scaled


def _index(numbers: np.ndarray, encoded: Encoded) -> torch.Tensor:
    return torch.from_numpy(numbers).to(encoded.states.device)


def _check_targets(targets: BatchTargets, rows: int, labels: int) -> None:
    if len(targets) != rows:
        raise ValueError(f"there are {rows} texts and the targets of {len(targets)}")
    for named in (targets.labels, targets.ignored):
        if len(named) and not 0 <= named.min() <= named.max() < labels:
            raise ValueError(f"labels of targets must be in 0..{labels - 1}")
