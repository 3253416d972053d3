"""Batches of texts with targets, and the heads in their plain form: everything dense, everything at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import ReplacedPairs
from tailwright.heads import dense as dense_module
from tailwright.heads import label_attention
from tailwright.heads.blockwise import BlockwiseHead
from tailwright.heads.dense import DenseHead
from tailwright.heads.label_specific import LabelSpecificHead
from tailwright.heads.shared_mlp import SharedMlpHead

ROWS, TOKENS, WIDTH, LABELS = 5, 7, 6, 37
LENGTHS = torch.tensor([7, 1, 4, 7, 2])

# A list of labels for each row: unordered, of different lengths, one of them empty.
LISTS = np.array(
    [[3, 36, 0, 9, 11], [8, 2, -1, -1, -1], [-1, -1, -1, -1, -1], [1, 2, 3, 4, 5], [30, -1, 7, -1, 20]]
)
SHARED = np.array([30, 2, 17, 4, 36, 0, 21, 22, 23, 24, 25, 8, 9, 10, 11, 12, 13, 14, 15])


def several_blocks(monkeypatch) -> None:
    """Blocks as small as they get, so that 37 labels are three of them."""
    monkeypatch.setattr(label_attention, "NUMBERS_A_BLOCK", 1)
    monkeypatch.setattr(dense_module, "NUMBERS_A_BLOCK", 1)


def drawn(key: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.Generator(np.random.Philox(key=key)).normal(0, 1, shape))


def padded_mask() -> torch.Tensor:
    return torch.arange(TOKENS) < LENGTHS[:, None]


def plain_attention(states: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """(batch, labels, tokens)"""
    logits = torch.einsum("btd,ld->blt", states, vectors)
    return torch.softmax(logits.masked_fill(~mask[:, None], -torch.inf), -1)


def plain_contexts(states: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """(batch, labels, width)"""
    return torch.einsum("blt,btd->bld", plain_attention(states, mask, vectors), states)


def unmixed(activations: torch.Tensor) -> torch.Tensor:
    return activations


@dataclass(frozen=True, eq=False)
class Case:
    """A head with what it reads, and its plain logits (batch, labels) as a function of its tensors."""

    new: Callable[[int], BlockwiseHead]  # number of labels -> head
    names: list[str]  # of the head's parameters
    tensors: list[torch.Tensor]  # what the head reads (states or features), then those parameters
    plain: Callable  # the same tensors, and what mixes at which point -> (batch, labels)
    mask: torch.Tensor | None

    def encoded(self) -> Encoded:
        return Encoded(self.tensors[0], self.mask)

    def head(self) -> BlockwiseHead:
        """A head that has copies of the tensors as its parameters."""
        head = self.new(len(self.tensors[1]))
        for name, tensor in zip(self.names, self.tensors[1:], strict=True):
            owner, _, attribute = name.rpartition(".")
            setattr(head.get_submodule(owner), attribute, nn.Parameter(tensor.detach().clone()))
        return head

    def leaves(self) -> Case:
        return self.of([tensor.clone().requires_grad_() for tensor in self.tensors])

    def of(self, tensors: list[torch.Tensor]) -> Case:
        return replace(self, tensors=list(tensors))

    def loss(self, targets: BatchTargets, **options) -> torch.Tensor:
        head, weights = self.new(len(self.tensors[1])), dict(zip(self.names, self.tensors[1:], strict=True))
        return functional_call(head, weights, (self.encoded(), targets), options)

    def logits(self, candidates: np.ndarray | None = None) -> torch.Tensor:
        return self.head().logits(self.encoded(), candidates)


def label_specific(dtype: torch.dtype = torch.float64) -> Case:
    mask = padded_mask()
    tensors = [drawn(1, ROWS, TOKENS, WIDTH), drawn(2, LABELS, WIDTH), drawn(3, LABELS, WIDTH)]

    def plain(states, attention, outputs, bias, contexts=unmixed):
        return (contexts(plain_contexts(states, mask, attention)) * outputs).sum(-1) + bias

    return Case(
        lambda labels: LabelSpecificHead(labels, WIDTH, seed=0, name="head"),
        ["attention", "outputs", "bias"],
        [tensor.to(dtype) for tensor in [*tensors, drawn(4, LABELS)]],
        plain,
        mask,
    )


def shared_mlp(dtype: torch.dtype = torch.float64) -> Case:
    mask, sizes = padded_mask(), [(4, WIDTH), (3, 4), (1, 3)]

    def plain(states, attention, *layers, contexts=unmixed, hidden=unmixed):
        inputs = contexts(plain_contexts(states, mask, attention))
        inputs = hidden(functional.relu(inputs @ layers[0].T + layers[3]))
        inputs = functional.relu(inputs @ layers[1].T + layers[4])
        return (inputs @ layers[2].T + layers[5])[..., 0]

    tensors = [drawn(1, ROWS, TOKENS, WIDTH), drawn(2, LABELS, WIDTH)]
    tensors += [drawn(10 + place, *size) for place, size in enumerate(sizes)]
    tensors += [drawn(20 + place, size[0]) for place, size in enumerate(sizes)]
    return Case(
        lambda labels: SharedMlpHead(labels, WIDTH, [4, 3], seed=0, name="head"),
        ["attention", *(f"layers.{layer}.{name}" for name in ("weight", "bias") for layer in range(3))],
        [tensor.to(dtype) for tensor in tensors],
        plain,
        mask,
    )


def dense(dtype: torch.dtype = torch.float64) -> Case:
    tensors = [drawn(1, ROWS, WIDTH), drawn(2, LABELS, WIDTH), drawn(3, LABELS)]
    return Case(
        lambda labels: DenseHead(labels, WIDTH, seed=0, name="head"),
        ["weight", "bias"],
        [tensor.to(dtype) for tensor in tensors],
        lambda features, weight, bias: features @ weight.T + bias,
        None,
    )


def dense_without_bias(dtype: torch.dtype = torch.float64) -> Case:
    return Case(
        lambda labels: DenseHead(labels, WIDTH, seed=0, name="head", bias=False),
        ["weight"],
        [drawn(1, ROWS, WIDTH).to(dtype), drawn(2, LABELS, WIDTH).to(dtype)],
        lambda features, weight: features @ weight.T,
        None,
    )


ATTENDED = {"label-specific": label_specific, "shared-mlp": shared_mlp}
CASES = {**ATTENDED, "dense": dense, "dense-without-bias": dense_without_bias}


@dataclass(frozen=True, eq=False)
class DenseTargets:
    """(batch, labels) targets (0: none) and ignored pairs, and (batch,) weights."""

    targets: np.ndarray
    ignored: np.ndarray
    weights: np.ndarray

    def sparse(self) -> BatchTargets:
        starts, labels, values = _csr(self.targets)
        return BatchTargets(starts, labels, values, *_csr(self.ignored)[:2], self.weights)

    def mean_loss(self, logits: torch.Tensor, divisor: float, places=None) -> torch.Tensor:
        """The textbook form; `places` (batch, labels) bool are the pairs that are scored, all if left out."""
        counted = torch.from_numpy(self.weights[:, None] * ~self.ignored).to(logits.dtype)
        if places is not None:
            counted = counted * places
        targets = torch.from_numpy(self.targets).to(logits.dtype)
        losses = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        return (losses * counted).sum() / divisor


def _csr(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = np.nonzero(matrix)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    return starts, columns.astype(np.int32), matrix[rows, columns]


def some_targets(key: int = 0, rows: int = ROWS, labels: int = LABELS) -> DenseTargets:
    """Hard and soft positives, ignored pairs among positives and others, weights of which one is 0."""
    random = np.random.Generator(np.random.Philox(key=100 + key))
    targets = np.where(random.random((rows, labels)) < 0.2, random.choice([1, 0.5, 0.25], (rows, labels)), 0)
    ignored = random.random((rows, labels)) < 0.2
    weights = np.resize([1, 0.5, 0, 3, 1], rows)
    return DenseTargets(targets.astype(np.float32), ignored, weights.astype(np.float32))


def places_of(candidates: np.ndarray) -> torch.Tensor:
    """(batch, labels) bool: the pairs that candidates name."""
    places = torch.zeros(ROWS, LABELS, dtype=torch.bool)
    if candidates.ndim == 1:
        places[:, candidates] = True
    else:
        rows, columns = np.nonzero(candidates >= 0)
        places[rows, candidates[rows, columns]] = True
    return places


def gradients(loss: torch.Tensor, tensors: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad(loss, tensors)


def assert_same_loss(ours, plain, tensors, tolerance=1e-6) -> None:
    torch.testing.assert_close(ours, plain, rtol=tolerance, atol=tolerance)
    for gradient, expected in zip(gradients(ours, tensors), gradients(plain, tensors), strict=True):
        torch.testing.assert_close(gradient, expected, rtol=tolerance, atol=tolerance)


class ToyMixing:
    """Does what it is given: `mix` maps activations, `replace_pairs` gives pairs out of context vectors."""

    def __init__(self, point: str, mix: Callable = unmixed, replace_pairs: Callable | None = None) -> None:
        self.point, self.mix, self._replace_pairs = point, mix, replace_pairs

    @property
    def targets(self) -> BatchTargets:
        raise AssertionError("a head is given its targets")

    def activations(self, states, mask):
        assert mask is None
        return self.mix(states), None

    def replaced_pairs(self, contexts) -> ReplacedPairs:
        if self._replace_pairs is not None:
            return self._replace_pairs(contexts)
        none = np.zeros(0, dtype=np.int64)
        return ReplacedPairs(none, none, contexts(none, none), np.zeros(0, dtype=np.float32))
