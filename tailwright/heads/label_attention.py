"""Label attention (AttentionXML): each label attends to the tokens of a text and gets a context vector.

With hidden states H (batch, tokens, width) and one vector a label W (labels, width): the attention of a label
is the softmax over the tokens of H W', padded tokens being out of reach, and its context is the attention's
weighted sum of H. There is no scale, no projection and no bias.

The attention of all labels, (batch, tokens, labels), would be large, so it is made for a block of labels at a
time and once more when gradients are asked for. A block of as many labels as H is wide takes no more memory
than H itself, however long the texts: tokens need not come in blocks too.

Measured with 8 texts of 128 tokens, width 384, 4,096 labels, seconds of CPU for forward and backward on one
thread and the memory that this adds, of which the contexts are 48 MB: as here 0.33 s and 132 MB; blocks under
torch's checkpointing 0.33 s and 188 MB; all labels at once, attention kept, 0.27 s and 138 MB, which grows by
labels times tokens.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import torch

from tailwright.heads.block_loss import sum_precision
from tailwright.heads.columns import Columns
from tailwright.heads.initial import xavier_uniform

# Numbers of one block's attention, 4 MB: large enough for quick products, small enough for a cache.
NUMBERS_A_BLOCK = 2**20


def new_label_vectors(labels: int, width: int, seed: int, name: str) -> torch.Tensor:
    """(labels, width) to start with, Xavier-uniform; `name` is the stream."""
    return xavier_uniform((labels, width), seed, name)


def mask_of_lengths(lengths: torch.Tensor, tokens: int) -> torch.Tensor:
    """(batch, tokens) bool: whether a place holds a token, for texts of these lengths."""
    return torch.arange(tokens, device=lengths.device) < lengths[:, None]


def label_contexts(hidden: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """(batch, labels, width): the context of each label in each text, with a graph.

    hidden: (batch, tokens, width); mask: (batch, tokens) bool; vectors: (labels, width), or (batch, labels,
    width) where each text has labels of its own. A text without a token raises ValueError.
    """
    contexts: torch.Tensor = _Contexts.apply(hidden, mask, vectors)  # type: ignore[no-untyped-call]
    return contexts


class AttendedTokens(ABC):
    """The tokens of a batch, and the products between them and a block of label vectors.

    What is (batch, tokens, block) by meaning lies in memory as products give it, which differs: `by_pair` and
    `by_row` turn a number a pair of text and label to that order and back.
    """

    def __init__(self, hidden: torch.Tensor, mask: torch.Tensor) -> None:
        _check(hidden, mask)
        self.hidden = hidden.detach().contiguous()  # (batch, tokens, width)
        self.precision = hidden.dtype
        self._out_of_reach = None if bool(mask.all()) else ~mask
        self._scratch = [self.hidden.new_empty(0, dtype=sum_precision(self.precision)) for _ in range(2)]

    def scratch(self, place: int, *shape: int) -> torch.Tensor:
        """One of two arrays that all blocks share, so that no block asks for fresh memory."""
        numbers = math.prod(shape)
        if self._scratch[place].numel() < numbers:
            self._scratch[place] = self._scratch[place].new_empty(numbers)
        return self._scratch[place][:numbers].view(shape)

    def attention(self, vectors: torch.Tensor) -> torch.Tensor:
        """The softmax over tokens, in float32 at least; tokens come last. It is there until the next one."""
        products = self.products(vectors)
        if self._out_of_reach is not None:
            products.masked_fill_(self.by_pair_mask(self._out_of_reach), -torch.inf)
        return torch.softmax(products, -1, out=self.scratch(1, *products.shape))

    def contexts(self, attention: torch.Tensor) -> torch.Tensor:
        """(batch, block, width): the tokens weighted by their attention."""
        return torch.bmm(self.by_text(attention).to(self.precision), self.hidden)

    def pull_contexts(
        self,
        attention: torch.Tensor,
        contexts: torch.Tensor,
        slopes: torch.Tensor,
        vectors: torch.Tensor,
        into: torch.Tensor | None,
        *,
        wanted: bool,
    ) -> torch.Tensor | None:
        """Slopes of the vectors, if wanted, given those of their contexts (batch, block, width).

        `into` is the gradient of the hidden states, which is added to; none where it is not wanted.
        """
        if into is not None:
            _add_bmm(into, self.by_text(attention).to(self.precision).transpose(1, 2), slopes)
        inner = (contexts * slopes).to(sum_precision(self.precision)).sum(-1)  # (batch, block)
        pulled = self.scratch(0, *attention.shape)
        self.by_text(pulled).copy_(torch.bmm(slopes, self.hidden.transpose(1, 2)))
        pulled.sub_(self.by_pair(inner)[..., None]).mul_(attention)
        if into is not None:
            self.add_token_slopes(into, pulled, vectors)
        return self.vector_slopes(pulled) if wanted else None

    @abstractmethod
    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        """The dot product of every token and every vector, tokens last. It is there until the next one."""

    @abstractmethod
    def by_text(self, numbers: torch.Tensor) -> torch.Tensor:
        """A view (batch, block, tokens) of numbers of tokens."""

    @abstractmethod
    def by_pair(self, numbers: torch.Tensor) -> torch.Tensor:
        """Numbers (batch, block) in the order of products; the same once more turns them back."""

    @abstractmethod
    def by_pair_mask(self, mask: torch.Tensor) -> torch.Tensor:
        """A mask (batch, tokens) that broadcasts over products."""

    @abstractmethod
    def add_token_slopes(self, into: torch.Tensor, slopes: torch.Tensor, vectors: torch.Tensor) -> None:
        """Add to the gradient of hidden states what products of these slopes give."""

    @abstractmethod
    def vector_slopes(self, slopes: torch.Tensor) -> torch.Tensor:
        """The slopes of the vectors out of those of products."""


class SharedLabels(AttendedTokens):
    """All texts meet the same labels, vectors (block, width): products are (block, batch, tokens)."""

    def __init__(self, hidden: torch.Tensor, mask: torch.Tensor) -> None:
        super().__init__(hidden, mask)
        self._flat = self.hidden.flatten(0, 1)  # (batch x tokens, width)

    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        found = self.scratch(0, len(vectors), len(self._flat))
        if found.dtype == self.precision:
            torch.mm(vectors.to(self.precision), self._flat.T, out=found)
        else:
            found.copy_(torch.mm(vectors.to(self.precision), self._flat.T))
        return found.view(len(vectors), *self.hidden.shape[:2])

    def by_text(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.transpose(0, 1)

    def by_pair(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.T

    def by_pair_mask(self, mask: torch.Tensor) -> torch.Tensor:
        return mask

    def add_token_slopes(self, into: torch.Tensor, slopes: torch.Tensor, vectors: torch.Tensor) -> None:
        turned = slopes.to(self.precision).flatten(1).T  # (batch x tokens, block)
        flat, vectors = into.view(self._flat.shape), vectors.to(self.precision)
        if into.dtype == self.precision:
            flat.addmm_(turned, vectors)
        else:
            flat.add_(torch.mm(turned, vectors))

    def vector_slopes(self, slopes: torch.Tensor) -> torch.Tensor:
        return torch.mm(slopes.to(self.precision).flatten(1), self._flat)


class OwnLabels(AttendedTokens):
    """Each text has its own labels, vectors (batch, block, width): products are (batch, block, tokens)."""

    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        found = torch.bmm(vectors.to(self.precision), self.hidden.transpose(1, 2))
        return found.to(sum_precision(self.precision))

    def by_text(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers

    def by_pair(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers

    def by_pair_mask(self, mask: torch.Tensor) -> torch.Tensor:
        return mask[:, None]

    def add_token_slopes(self, into: torch.Tensor, slopes: torch.Tensor, vectors: torch.Tensor) -> None:
        _add_bmm(into, slopes.to(self.precision).transpose(1, 2), vectors.to(self.precision))

    def vector_slopes(self, slopes: torch.Tensor) -> torch.Tensor:
        return torch.bmm(slopes.to(self.precision), self.hidden)


def attended(hidden: torch.Tensor, mask: torch.Tensor, *, own: bool) -> AttendedTokens:
    return OwnLabels(hidden, mask) if own else SharedLabels(hidden, mask)


def block_width(columns: Columns, hidden: torch.Tensor, *also: int) -> int:
    """Labels a block; `also` are further numbers that a pair of text and label needs beside its tokens."""
    texts, tokens, width = hidden.shape
    a_pair = max(tokens, *also, width if columns.own else 1)
    return max(16, NUMBERS_A_BLOCK // max(texts * a_pair, 1))


class _Contexts(torch.autograd.Function):
    """The attention of a block is made anew in `backward`."""

    @staticmethod
    def forward(
        context: Any, hidden: torch.Tensor, mask: torch.Tensor, vectors: torch.Tensor
    ) -> torch.Tensor:
        own = vectors.dim() == 3
        with torch.autocast(hidden.device.type, enabled=False):
            tokens = attended(hidden, mask, own=own)
            columns = Columns(len(hidden), vectors.shape[-2])
            found = hidden.new_empty(len(hidden), columns.count, hidden.shape[-1])
            for start, end in columns.blocks(block_width(columns, hidden)):
                found[:, start:end] = tokens.contexts(tokens.attention(vectors[..., start:end, :]))
        context.save_for_backward(hidden, mask, vectors, found)
        return found

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        hidden, mask, vectors, found = context.saved_tensors
        tokens = attended(hidden, mask, own=vectors.dim() == 3)
        precision = sum_precision(hidden.dtype)
        into = None
        if context.needs_input_grad[0]:
            into = torch.zeros(hidden.shape, dtype=precision, device=hidden.device)
        wanted = context.needs_input_grad[2]
        slopes = torch.empty_like(vectors) if wanted else None
        columns = Columns(len(hidden), vectors.shape[-2])
        for start, end in columns.blocks(block_width(columns, hidden)):
            block, place = vectors[..., start:end, :], (slice(None), slice(start, end))
            pulled = tokens.pull_contexts(
                tokens.attention(block), found[place], gradients[0][place], block, into, wanted=wanted
            )
            if slopes is not None and pulled is not None:
                slopes[..., start:end, :] = pulled
        return None if into is None else into.to(hidden.dtype), None, slopes


def _add_bmm(into: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    if into.dtype == a.dtype == b.dtype:
        into.baddbmm_(a, b)
    else:
        into.add_(torch.bmm(a, b))


def _check(hidden: torch.Tensor, mask: torch.Tensor) -> None:
    if hidden.dim() != 3 or mask.dtype != torch.bool or mask.shape != hidden.shape[:2]:
        raise ValueError(
            f"mask must be bool (batch, tokens) of hidden {tuple(hidden.shape)}, got {mask.dtype} "
            f"{tuple(mask.shape)}"
        )
    empty = ~mask.any(1)
    if bool(empty.any()):
        raise ValueError(f"text {int(empty.nonzero()[0])} of the batch has no token")
