"""Batches of texts with targets, and the heads in their plain form: everything dense, everything at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from tailwright.heads.batch_targets import BatchTargets
from tailwright.heads.dense_scores import DenseHead
from torch.nn import functional

from tailwright.heads import dense_scores, label_attention
from tailwright.heads.label_specific import LabelSpecificHead
from tailwright.heads.shared_mlp import SharedMlpHead

ROWS, TOKENS, WIDTH, LABELS = 5, 7, 6, 37
LENGTHS = torch.tensor([7, 1, 4, 7, 2])


def several_blocks(monkeypatch) -> None:
    """Blocks as small as they get, so that 37 labels are three of them."""
    monkeypatch.setattr(label_attention, "NUMBERS_A_BLOCK", 1)
    monkeypatch.setattr(dense_scores, "NUMBERS_A_BLOCK", 1)


def drawn(key: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.Generator(np.random.Philox(key=key)).normal(0, 1, shape))


def padded_mask() -> torch.Tensor:
    return label_attention.mask_of_lengths(LENGTHS, TOKENS)


def plain_attention(hidden: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """(batch, labels, tokens)"""
    scores = torch.einsum("btd,ld->blt", hidden, vectors)
    return torch.softmax(scores.masked_fill(~mask[:, None], -torch.inf), -1)


def plain_contexts(hidden: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """(batch, labels, width)"""
    return torch.einsum("blt,btd->bld", plain_attention(hidden, mask, vectors), hidden)


@dataclass(frozen=True, eq=False)
class Case:
    """A head with what it reads, and its plain scores (batch, labels) as a function of its tensors."""

    make: Callable  # tensors of the head -> head
    tensors: list[torch.Tensor]  # what the head reads (hidden states or features), then the head's own
    plain: Callable  # the same tensors -> (batch, labels)
    mask: torch.Tensor | None

    def inputs(self, first: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (first,) if self.mask is None else (first, self.mask)

    def head(self):
        return self.make(*self.tensors[1:])

    def leaves(self) -> Case:
        tensors = [tensor.clone().requires_grad_() for tensor in self.tensors]
        return Case(self.make, tensors, self.plain, self.mask)

    def loss(self, targets: BatchTargets, **options) -> torch.Tensor:
        return self.head().loss(*self.inputs(self.tensors[0]), targets, **options)

    def scores(self, **options) -> torch.Tensor:
        return self.head().scores(*self.inputs(self.tensors[0]), **options)


def label_specific(dtype: torch.dtype = torch.float64) -> Case:
    mask = padded_mask()
    tensors = [drawn(1, ROWS, TOKENS, WIDTH), drawn(2, LABELS, WIDTH), drawn(3, LABELS, WIDTH)]

    def plain(hidden, attention, outputs, bias):
        return (plain_contexts(hidden, mask, attention) * outputs).sum(-1) + bias

    tensors = [tensor.to(dtype) for tensor in [*tensors, drawn(4, LABELS)]]
    return Case(LabelSpecificHead, tensors, plain, mask)


def shared_mlp(dtype: torch.dtype = torch.float64) -> Case:
    mask, sizes = padded_mask(), [(4, WIDTH), (3, 4), (1, 3)]

    def plain(hidden, attention, *layers):
        found = plain_contexts(hidden, mask, attention)
        found = functional.relu(found @ layers[0].T + layers[3])
        found = functional.relu(found @ layers[1].T + layers[4])
        return (found @ layers[2].T + layers[5])[..., 0]

    tensors = [drawn(1, ROWS, TOKENS, WIDTH), drawn(2, LABELS, WIDTH)]
    tensors += [drawn(10 + place, *size) for place, size in enumerate(sizes)]
    tensors += [drawn(20 + place, size[0]) for place, size in enumerate(sizes)]
    return Case(
        lambda attention, *layers: SharedMlpHead(attention, layers[:3], layers[3:]),
        [tensor.to(dtype) for tensor in tensors],
        plain,
        mask,
    )


def dense(dtype: torch.dtype = torch.float64) -> Case:
    tensors = [drawn(1, ROWS, WIDTH), drawn(2, LABELS, WIDTH), drawn(3, LABELS)]
    return Case(
        DenseHead,
        [tensor.to(dtype) for tensor in tensors],
        lambda features, weight, bias: features @ weight.T + bias,
        None,
    )


def dense_without_bias(dtype: torch.dtype = torch.float64) -> Case:
    return Case(
        lambda weight: DenseHead(weight, None),
        [drawn(1, ROWS, WIDTH).to(dtype), drawn(2, LABELS, WIDTH).to(dtype)],
        lambda features, weight: features @ weight.T,
        None,
    )


CASES = {
    "label-specific": label_specific,
    "shared-mlp": shared_mlp,
    "dense": dense,
    "dense-without-bias": dense_without_bias,
}


@dataclass(frozen=True, eq=False)
class DenseTargets:
    """(batch, labels) targets (0: none) and ignored pairs, and (batch,) weights."""

    targets: np.ndarray
    ignored: np.ndarray
    weights: np.ndarray

    def sparse(self) -> BatchTargets:
        positives, skipped = _csr(self.targets), _csr(self.ignored)
        return BatchTargets.of(positives, self.weights, skipped[:2])

    def mean_loss(self, scores: torch.Tensor, divisor: float, places=None) -> torch.Tensor:
        """The textbook form; `places` (batch, labels) bool are the pairs that are scored, all if left out."""
        counted = torch.from_numpy(self.weights[:, None] * ~self.ignored).to(scores.dtype)
        if places is not None:
            counted = counted * places
        targets = torch.from_numpy(self.targets).to(scores.dtype)
        each = functional.binary_cross_entropy_with_logits(scores, targets, reduction="none")
        return (each * counted).sum() / divisor


def _csr(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = np.nonzero(matrix)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    return ends, columns, matrix[rows, columns]


def some_targets(key: int = 0, rows: int = ROWS, labels: int = LABELS) -> DenseTargets:
    """Hard and soft positives, ignored pairs among positives and others, weights of which one is 0."""
    random = np.random.Generator(np.random.Philox(key=100 + key))
    targets = np.where(random.random((rows, labels)) < 0.2, random.choice([1, 0.5, 0.25], (rows, labels)), 0)
    ignored = random.random((rows, labels)) < 0.2
    weights = np.resize([1, 0.5, 0, 3, 1], rows)
    return DenseTargets(targets.astype(np.float32), ignored, weights.astype(np.float32))
