"""`BlockwiseHead`: loss, logits and ranking over very many labels, a block of labels at a time.

As in `torch.nn.AdaptiveLogSoftmaxWithLoss`, `forward` takes the targets and gives the loss. A head differs
from another by its weights, and by how logits and gradients of a block come about (`block_pass`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, TypeAlias, cast, get_args

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing, PairMixing
from tailwright.encoders.row_table import RowTable
from tailwright.evaluation.ranking import PADDING, TopK, top_k_of_scores
from tailwright.heads.block_loss import BlockLoss, sum_dtype
from tailwright.heads.block_pass import BlockPass, HeadBatch, LossInBlocks
from tailwright.heads.columns import Columns, check_candidates
from tailwright.heads.label_attention import pair_contexts
from tailwright.heads.mix_points import BlockMixing, with_values, without_pairs
from tailwright.kernels.csr import number_locally

Mean: TypeAlias = Literal["pairs", "rows"]


@dataclass(frozen=True, eq=False)
class LabelRows:
    """The rows of the label tables that a batch needs, and its columns over them."""

    columns: Columns
    tables: list[torch.Tensor]  # a row for each of `labels`
    labels: np.ndarray | None  # (rows of tables,) int32, ascending; None: all

    def places(self, labels: np.ndarray) -> np.ndarray:
        """(labels,) the table row of each label, -1 where it has none."""
        if self.labels is None:
            return labels
        if not len(self.labels):
            return np.full_like(labels, -1)
        near = np.minimum(np.searchsorted(self.labels, labels), len(self.labels) - 1)
        return np.where(self.labels[near] == labels, near, -1)


class BlockwiseHead(nn.Module, ABC):
    """A head over so many labels.

    A `sparse` head has its label vectors in a `RowTable`; it gathers those of a batch's candidates, and
    learns no others.
    """

    mix_points: ClassVar[tuple[str, ...]] = ()

    def __init__(self, labels: int, *, sparse: bool = False) -> None:
        super().__init__()
        self.labels, self.sparse = labels, sparse
        self._scratch = np.full(labels if sparse else 0, -1, dtype=np.int32)

    @abstractmethod
    def tables(self) -> Sequence[nn.Parameter | RowTable]:
        """The weights that have a row for each label; the vectors of label attention come first."""

    def shared(self) -> Sequence[nn.Parameter]:
        """The weights that all labels share."""
        return ()

    @abstractmethod
    def new_pass(
        self, batch: HeadBatch, tensors: Sequence[torch.Tensor], wanted: Sequence[bool]
    ) -> BlockPass:
        """A pass over tensors: the hidden states, rows of `tables`, `shared`."""

    def logits_of_contexts(self, contexts: torch.Tensor, tables: Sequence[torch.Tensor]) -> torch.Tensor:
        """(pairs,) with a graph: the logits of context vectors (pairs, width), given their rows of tables."""
        raise ValueError(f"{type(self).__name__} has no context vectors")

    def forward(
        self,
        encoded: Encoded,
        targets: BatchTargets,
        *,
        candidates: np.ndarray | None = None,
        mean: Mean = "pairs",
        mixing: Mixing | None = None,
    ) -> torch.Tensor:
        """Binary cross-entropy over all labels, or over `candidates` as in `columns`.

        `mean` "pairs" divides the sum by the number of logits (rows times labels, as papers have it, or the
        entries of the rows' lists), "rows" by the number of rows. Ignored pairs and weights, of rows and of
        labels, leave the divisor as it is. A mixing at one of the head's `mix_points` is applied; any other
        is not the head's.
        """
        if mean not in get_args(Mean):
            raise ValueError(f"mean must be one of {', '.join(get_args(Mean))}, got {mean!r}")
        _check_targets(targets, len(encoded), self.labels)
        rows = self._gather(encoded, candidates)
        columns = rows.columns
        if rows.labels is not None:
            targets = targets.among(rows.labels)
        if mixing is not None and mixing.point not in self.mix_points:
            mixing = None
        loss_of_replaced = None
        if mixing is not None and mixing.point == "pairs":
            contexts = self._contexts(encoded, rows, candidates)
            targets, loss_of_replaced = self._replace_pairs(encoded, rows, targets, mixing, contexts)
        elif mixing is not None and columns.per_row:
            raise ValueError(f"mixing at {mixing.point!r} needs the same labels in every row, not lists")
        tensors = [encoded.states, *rows.tables, *self.shared()]
        # Inside an autograd function nothing says any more whether a graph is wanted.
        wanted = [tensor.requires_grad and torch.is_grad_enabled() for tensor in tensors]
        batch = HeadBatch(encoded, columns, BlockMixing(mixing, learns=any(wanted)))
        block_loss = BlockLoss(targets, columns, encoded.states.device)
        scale = 1 / max(columns.pairs if mean == "pairs" else columns.rows, 1)
        new_pass = partial(self.new_pass, batch)
        loss: torch.Tensor = LossInBlocks.apply(new_pass, wanted, block_loss, scale, *tensors)  # type: ignore[no-untyped-call]
        return loss if loss_of_replaced is None else loss + loss_of_replaced * scale

    def contexts(self, encoded: Encoded, candidates: np.ndarray | None = None) -> PairContexts:
        """The context vectors of texts under label attention."""
        return self._contexts(encoded, self._gather(encoded, candidates), candidates)

    def _contexts(self, encoded: Encoded, rows: LabelRows, candidates: np.ndarray | None) -> PairContexts:
        lists = None
        if candidates is not None:
            lists = np.broadcast_to(candidates, (len(encoded), candidates.shape[-1]))
        return PairContexts(encoded, rows, self.tables()[0], lists)

    @torch.no_grad()
    def logits(self, encoded: Encoded, candidates: np.ndarray | None = None) -> torch.Tensor:
        """(batch, columns) without a graph; minus infinity where a list is padded."""
        work = self._scoring_pass(encoded, candidates)
        columns = work.columns
        blocks = [work.logits(start, end) for start, end in columns.blocks(work.size)]
        logits = torch.cat(blocks, 1) if blocks else encoded.states.new_empty(columns.rows, 0)
        padding = tuple(_index(places, encoded) for places in columns.padding())
        return logits.index_put_(padding, logits.new_tensor(-torch.inf))

    @torch.no_grad()
    def top_k(self, encoded: Encoded, k: int) -> TopK:
        """The k best of all labels of each text, equal logits by smaller label."""
        work, shape = self._scoring_pass(encoded, None), (len(encoded), k)
        best = TopK(np.full(shape, PADDING, dtype=np.int32), np.full(shape, -np.inf, dtype=np.float32))
        for start, end in work.columns.blocks(work.size):
            block = top_k_of_scores(work.logits(start, end).cpu().numpy(), k)
            ids = np.where(block.ids >= 0, block.ids + np.int32(start), PADDING)
            # Earlier blocks have smaller labels and stand in front, so equal logits go by smaller label.
            ids = np.concatenate([best.ids, ids], axis=1)
            merged = top_k_of_scores(np.concatenate([best.scores, block.scores], axis=1), k)
            best = TopK(np.take_along_axis(ids, merged.ids.astype(np.int64), axis=1), merged.scores)
        return best

    def _scoring_pass(self, encoded: Encoded, candidates: np.ndarray | None) -> BlockPass:
        """A pass without gradients."""
        rows = self._gather(encoded, candidates)
        tensors = [encoded.states, *rows.tables, *self.shared()]
        batch = HeadBatch(encoded, rows.columns, BlockMixing(None, learns=False))
        return self.new_pass(batch, tensors, [False] * len(tensors))

    def _gather(self, encoded: Encoded, candidates: np.ndarray | None) -> LabelRows:
        """The tables whole; of a sparse head, their rows of the candidates."""
        texts, device = len(encoded), encoded.states.device
        if candidates is not None:
            check_candidates(candidates, texts, self.labels)
        labels = None
        if self.sparse and candidates is None:
            labels = np.arange(self.labels, dtype=np.int32)
        elif self.sparse and candidates is not None:
            listed = candidates >= 0
            labels, places = number_locally(candidates[listed].astype(np.int32), self._scratch)
            candidates = np.full(candidates.shape, -1, dtype=np.int64)
            candidates[listed] = places
        count = self.labels if labels is None else len(labels)
        tables: list[torch.Tensor] = []
        for table in self.tables():
            if isinstance(table, RowTable):
                tables.append(table(labels).to(device))
            else:
                tables.append(table if labels is None else table[_index(labels, encoded)])
        return LabelRows(Columns(texts, count, candidates, device), tables, labels)

    def _replace_pairs(
        self, encoded: Encoded, rows: LabelRows, targets: BatchTargets, mixing: Mixing, contexts: PairContexts
    ) -> tuple[BatchTargets, torch.Tensor | None]:
        """The targets after a mixing, without the pairs with other contexts, and the sum of their loss."""
        pairs = cast(PairMixing, mixing).replaced_pairs(contexts)
        places, count = rows.places(pairs.labels), len(pairs.contexts)
        scored = np.flatnonzero(places >= 0)
        others = scored[scored >= count]
        targets = with_values(
            targets, max(rows.columns.labels, 1), pairs.rows[others], places[others], pairs.targets[others]
        )
        targets, learnt = without_pairs(targets, rows.columns, pairs.rows[:count], places[:count])
        if not len(learnt):
            return targets, None
        tables = [table[_index(places[learnt], encoded)] for table in rows.tables]
        replaced = pairs.contexts[_index(learnt, encoded)]
        logits = self.logits_of_contexts(replaced.to(sum_dtype(replaced.dtype)), tables)
        logits = logits.to(sum_dtype(logits.dtype))
        return targets, functional.binary_cross_entropy_with_logits(
            logits,
            torch.from_numpy(pairs.targets[learnt]).to(logits),
            torch.from_numpy(targets.pair_weights(pairs.rows[learnt], places[learnt])).to(logits),
            reduction="sum",
        )


@dataclass(frozen=True, eq=False)
class PairContexts:
    """The `ContextVectors` of a batch under label attention."""

    encoded: Encoded
    rows: LabelRows
    attention: nn.Parameter | RowTable
    candidates: np.ndarray | None

    def __call__(self, rows: np.ndarray, labels: np.ndarray) -> torch.Tensor:
        places = self.rows.places(labels)
        gathered = np.flatnonzero(places >= 0)
        vectors = self.rows.tables[0][_index(places[gathered], self.encoded)]
        if isinstance(self.attention, RowTable) and len(gathered) < len(labels):
            # A label that is no candidate in this batch is read, but not learnt.
            read = torch.from_numpy(self.attention.array[labels]).to(vectors)
            vectors = read.index_put((_index(gathered, self.encoded),), vectors)
        return pair_contexts(self.encoded, rows, vectors)


def _index(places: np.ndarray, encoded: Encoded) -> torch.Tensor:
    return torch.from_numpy(places).to(encoded.states.device)


def _check_targets(targets: BatchTargets, rows: int, labels: int) -> None:
    if len(targets) != rows:
        raise ValueError(f"there are {rows} texts and the targets of {len(targets)}")
    for named in (targets.labels, targets.ignored):
        if len(named) and not 0 <= named.min() <= named.max() < labels:
            raise ValueError(f"labels of targets must be in 0..{labels - 1}")
