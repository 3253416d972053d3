"""Label attention (AttentionXML): each label attends to the tokens of a text and gets a context vector.

With hidden states H (batch, tokens, width) and one vector a label W (labels, width), the attention of a label
is the softmax of H W' over the text's tokens, and its context vector is the sum of H weighted by it. There is
no scale, no projection and no bias.

The attention of all labels, (batch, tokens, labels), would be large, so it is computed for a block of labels
at a time. A block of as many labels as H is wide takes no more memory than H itself, however long the texts
are, so tokens need not come in blocks too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import torch

from tailwright.encoders.encoded import Encoded
from tailwright.heads.block_loss import sum_dtype
from tailwright.heads.columns import Columns

# Numbers of one block's attention, 4 MB: large enough for quick products, small enough for a cache.
NUMBERS_A_BLOCK = 2**20


class TokenAttention(ABC):
    """The attention of a block of labels over the tokens of a batch, and its gradients.

    Logits and attention have a number for each text, label and token. They lie in memory as a product gives
    them, which differs; `by_pair` turns (batch, block) numbers to that order and back.
    """

    def __init__(self, states: torch.Tensor, mask: torch.Tensor) -> None:
        check_mask(states, mask)
        self.states = states.detach().contiguous()  # (batch, tokens, width)
        self.dtype = states.dtype
        self._padding = None if bool(mask.all()) else ~mask
        self._scratch = [self.states.new_empty(0, dtype=sum_dtype(self.dtype)) for _ in range(2)]

    def scratch(self, place: int, *shape: int) -> torch.Tensor:
        """One of two arrays that all blocks share, so that no block asks for fresh memory."""
        numbers = math.prod(shape)
        if self._scratch[place].numel() < numbers:
            self._scratch[place] = self._scratch[place].new_empty(numbers)
        return self._scratch[place][:numbers].view(shape)

    def attention(self, vectors: torch.Tensor) -> torch.Tensor:
        """The softmax over tokens, which come last, in float32 at least. The next call overwrites it."""
        products = self.products(vectors)
        if self._padding is not None:
            products.masked_fill_(self.by_pair_mask(self._padding), -torch.inf)
        return torch.softmax(products, -1, out=self.scratch(1, *products.shape))

    def contexts(self, attention: torch.Tensor) -> torch.Tensor:
        """(batch, block, width): the context vectors."""
        return torch.bmm(self.by_text(attention).to(self.dtype), self.states)

    def backward_contexts(
        self,
        attention: torch.Tensor,
        contexts: torch.Tensor,
        gradient: torch.Tensor,
        vectors: torch.Tensor,
        states_gradient: torch.Tensor | None,
        *,
        wanted: bool,
    ) -> torch.Tensor | None:
        """The gradient of the label vectors, if wanted, given that of their contexts (batch, block, width).

        That of the hidden states is added to `states_gradient`, unless it is None.
        """
        if states_gradient is not None:
            _add_bmm(states_gradient, self.by_text(attention).to(self.dtype).transpose(1, 2), gradient)
        inner = (contexts * gradient).to(sum_dtype(self.dtype)).sum(-1)  # (batch, block)
        of_products = self.scratch(0, *attention.shape)
        self.by_text(of_products).copy_(torch.bmm(gradient, self.states.transpose(1, 2)))
        of_products.sub_(self.by_pair(inner)[..., None]).mul_(attention)
        if states_gradient is not None:
            self.add_states_gradient(states_gradient, of_products, vectors)
        return self.vectors_gradient(of_products) if wanted else None

    @abstractmethod
    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        """The dot product of each token and each vector, tokens last. The next call may overwrite it."""

    @abstractmethod
    def by_text(self, numbers: torch.Tensor) -> torch.Tensor:
        """A view (batch, block, tokens) of products."""

    @abstractmethod
    def by_pair(self, numbers: torch.Tensor) -> torch.Tensor:
        """Numbers (batch, block) in the order of products; the same once more turns them back."""

    @abstractmethod
    def by_pair_mask(self, mask: torch.Tensor) -> torch.Tensor:
        """A mask (batch, tokens) that broadcasts over products."""

    @abstractmethod
    def add_states_gradient(self, total: torch.Tensor, gradient: torch.Tensor, vectors: torch.Tensor) -> None:
        """Add the gradient of the hidden states, given that of the products."""

    @abstractmethod
    def vectors_gradient(self, gradient: torch.Tensor) -> torch.Tensor:
        """The gradient of the vectors, given that of the products."""


class SharedLabelAttention(TokenAttention):
    """All texts meet the same labels, vectors (block, width): products are (block, batch, tokens)."""

    def __init__(self, states: torch.Tensor, mask: torch.Tensor) -> None:
        super().__init__(states, mask)
        self._flat = self.states.flatten(0, 1)  # (batch x tokens, width)

    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        products = self.scratch(0, len(vectors), len(self._flat))
        if products.dtype == self.dtype:
            torch.mm(vectors.to(self.dtype), self._flat.T, out=products)
        else:
            products.copy_(torch.mm(vectors.to(self.dtype), self._flat.T))
        return products.view(len(vectors), *self.states.shape[:2])

    def by_text(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.transpose(0, 1)

    def by_pair(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.T

    def by_pair_mask(self, mask: torch.Tensor) -> torch.Tensor:
        return mask

    def add_states_gradient(self, total: torch.Tensor, gradient: torch.Tensor, vectors: torch.Tensor) -> None:
        turned = gradient.to(self.dtype).flatten(1).T  # (batch x tokens, block)
        flat, vectors = total.view(self._flat.shape), vectors.to(self.dtype)
        if total.dtype == self.dtype:
            flat.addmm_(turned, vectors)
        else:
            flat.add_(torch.mm(turned, vectors))

    def vectors_gradient(self, gradient: torch.Tensor) -> torch.Tensor:
        return torch.mm(gradient.to(self.dtype).flatten(1), self._flat)


class ListedLabelAttention(TokenAttention):
    """Each text has a list of labels, vectors (batch, block, width): products are (batch, block, tokens)."""

    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        products = torch.bmm(vectors.to(self.dtype), self.states.transpose(1, 2))
        return products.to(sum_dtype(self.dtype))

    def by_text(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers

    def by_pair(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers

    def by_pair_mask(self, mask: torch.Tensor) -> torch.Tensor:
        return mask[:, None]

    def add_states_gradient(self, total: torch.Tensor, gradient: torch.Tensor, vectors: torch.Tensor) -> None:
        _add_bmm(total, gradient.to(self.dtype).transpose(1, 2), vectors.to(self.dtype))

    def vectors_gradient(self, gradient: torch.Tensor) -> torch.Tensor:
        return torch.bmm(gradient.to(self.dtype), self.states)


def token_attention(states: torch.Tensor, mask: torch.Tensor, columns: Columns) -> TokenAttention:
    """The attention of the columns' labels."""
    kind = ListedLabelAttention if columns.per_row else SharedLabelAttention
    return kind(states, mask)


def block_size(columns: Columns, states: torch.Tensor, *also: int) -> int:
    """Labels a block; `also` are further numbers that a pair of text and label needs beside its tokens."""
    texts, tokens, width = states.shape
    a_pair = max(tokens, *also, width if columns.per_row else 1)
    return max(16, NUMBERS_A_BLOCK // max(texts * a_pair, 1))


def pair_contexts(encoded: Encoded, rows: np.ndarray, vectors: torch.Tensor) -> torch.Tensor:
    """(pairs, width), with a graph: the context of each label vector (pairs, width) in the text of its row.

    The pairs of a text are worked on together, so its states are not copied for each.
    """
    states, mask = encoded.states, encoded.token_mask()
    check_mask(states, mask)
    if not len(rows):
        return states.new_zeros(0, states.shape[-1])
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(len(states)))
    place = np.empty(len(rows), dtype=np.int64)  # of each pair among those of its text
    place[order] = np.arange(len(rows)) - starts[rows[order]]
    at = tuple(torch.from_numpy(axis).to(states.device) for axis in (rows, place))
    shape = (len(states), int(place.max()) + 1, states.shape[-1])
    lists = states.new_zeros(shape).index_put(at, vectors.to(states.dtype))  # (batch, listed, width)
    products = torch.bmm(lists, states.transpose(1, 2)).to(sum_dtype(states.dtype))
    attention = torch.softmax(products.masked_fill(~mask[:, None], -torch.inf), -1)
    return torch.bmm(attention.to(states.dtype), states)[at]


def check_mask(states: torch.Tensor, mask: torch.Tensor) -> None:
    """Raise ValueError unless `mask` is bool (batch, tokens) with a token in each text."""
    if states.dim() != 3 or mask.dtype != torch.bool or mask.shape != states.shape[:2]:
        raise ValueError(
            f"mask must be bool (batch, tokens) of states {tuple(states.shape)}, got {mask.dtype} "
            f"{tuple(mask.shape)}"
        )
    empty = ~mask.any(1)
    if bool(empty.any()):
        raise ValueError(f"text {int(empty.nonzero()[0])} of the batch has no token")


def _add_bmm(total: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    if total.dtype == a.dtype == b.dtype:
        total.baddbmm_(a, b)
    else:
        total.add_(torch.bmm(a, b))
