"""`ShardedDenseHead`: the dense head of a process that has a part of the labels, and learns from all rows.

Binary cross-entropy is a sum over labels, so labels can be shared out: of L labels and N processes, each has
the vectors, biases and moments of L / N. In a step,

1. every process encodes its share of the batch's rows, as it does with a head that all have whole;
2. the hidden states and the targets of all rows are gathered: rows x width numbers, not labels x width;
3. each computes the loss of all rows over its labels, and has the gradient of these labels to itself;
4. the gradients of the hidden states are added up, and each process takes those of its own rows back through
   its encoder.

In a ranking each names the k best of its labels, and the best of these are the k best of all.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import torch

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing
from tailwright.evaluation.ranking import PADDING, TopK, top_k_of_scores
from tailwright.heads.blockwise import Mean
from tailwright.heads.dense import DenseHead
from tailwright.heads.shards import LabelShard, Together


class ShardedDenseHead(DenseHead):
    """A `DenseHead` over the labels of `shard`; all processes must call each method at the same time.

    The gradients of its parameters are sums over the rows of all processes, added to `grad` by `forward`: no
    backward pass reaches them, and nobody may add up those of several processes.
    """

    def __init__(self, shard: LabelShard, width: int, together: Together, *, seed: int, name: str) -> None:
        """It starts with the weights that a `DenseHead` of that seed and name has for these labels."""
        super().__init__(shard.total, width, seed=seed, name=name, part=shard)
        self.shard, self.together = shard, together

    def forward(
        self,
        encoded: Encoded,
        targets: BatchTargets,
        *,
        candidates: np.ndarray | None = None,
        mean: Mean = "pairs",
        mixing: Mixing | None = None,
    ) -> torch.Tensor:
        """The mean loss of everybody's rows over all labels, whose gradient is that of the own rows' mean.

        A process may have no rows.
        """
        if candidates is not None:
            raise ValueError("the labels of a sharded head are scored together, not by candidates")
        if mean not in get_args(Mean):
            raise ValueError(f"mean must be one of {', '.join(get_args(Mean))}, got {mean!r}")
        states, of_all, places = self._gathered(encoded, targets)
        count, own = len(states), len(encoded)
        # `DenseHead` gives the sum over rows and labels, by the number of rows.
        scale = count / self.shard.total if mean == "pairs" else float(count)
        loss = super().forward(Encoded(states.requires_grad_(), None), of_all, mean="rows")
        learnt = [parameter for parameter in self.parameters() if parameter.requires_grad]
        if torch.is_grad_enabled():
            of_states, *of_tables = torch.autograd.grad(loss, [states, *learnt])
            of_states = of_states.contiguous()  # as messages are
            for parameter, gradient in zip(learnt, of_tables, strict=True):
                gradient.mul_(scale)
                parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
        else:
            of_states = torch.zeros_like(states)
        self.together.add(of_states)
        value = self.together.total(float(loss.detach())) * scale / max(count, 1)
        mine = of_states[places] * (scale / max(own, 1))
        found: torch.Tensor = _Known.apply(encoded.states, mine, value)  # type: ignore[no-untyped-call]
        return found

    @torch.no_grad()
    def top_k(self, encoded: Encoded, k: int) -> TopK:
        """The k best of everybody's labels of each text; all processes must ask for the same texts."""
        mine = super().top_k(encoded, k)
        ids = np.where(mine.ids == PADDING, PADDING, mine.ids + np.int32(self.shard.start))
        told = self.together.gather([ids, mine.scores])
        # Labels ascend by rank, so equal logits go by smaller label.
        all_ids, scores = (np.concatenate([one[place] for one in told], axis=1) for place in (0, 1))
        best = top_k_of_scores(scores, k)
        return TopK(np.take_along_axis(all_ids, best.ids.astype(np.int64), axis=1), best.scores)

    def _gathered(self, encoded: Encoded, targets: BatchTargets) -> tuple[torch.Tensor, BatchTargets, slice]:
        """(rows, width) of everybody; what these learn of the own labels; where the own rows are."""
        states = encoded.states.detach()
        made = np.zeros(len(targets), np.float32) if targets.made is None else targets.made
        told = self.together.gather(
            [
                states.float().cpu().numpy(),
                np.diff(targets.starts),
                targets.labels.astype(np.int32),
                targets.values.astype(np.float32),
                np.diff(targets.ignored_starts),
                targets.ignored.astype(np.int32),
                targets.weights.astype(np.float32),
                made.astype(np.float32),
            ]
        )
        every, counts, labels, values, ignored_counts, ignored, weights, made = (
            np.concatenate([one[place] for one in told]) for place in range(8)
        )
        of_all = BatchTargets(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            labels,
            values,
            np.concatenate([[0], np.cumsum(ignored_counts)]).astype(np.int64),
            ignored,
            weights,
            targets.label_weights,
            None if targets.label_weights is None else made,
        )
        before = sum(len(one[0]) for one in told[: self.together.rank])
        of_labels = of_all.among(np.arange(self.shard.start, self.shard.end))
        on_device = torch.from_numpy(every).to(states)
        return on_device, of_labels, slice(before, before + len(states))


class _Known(torch.autograd.Function):
    """A value whose gradient with respect to the states is known."""

    @staticmethod
    def forward(context: Any, states: torch.Tensor, gradient: torch.Tensor, value: float) -> torch.Tensor:
        context.save_for_backward(gradient)
        return gradient.new_tensor(value)

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, None, None]:
        (known,) = context.saved_tensors
        return known * gradients[0], None, None
