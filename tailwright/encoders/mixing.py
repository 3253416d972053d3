"""The hidden door: what an augmentation does inside one forward pass, at a mix point that the network names.

| mix point | activations | of |
|---|---|---|
| `tokens` | (rows, tokens) | the ids of the tokens, before the encoder reads them |
| `embeddings` | (rows, tokens, width) | word or token embeddings |
| `layer-1`, `layer-2`, ... | (rows, tokens, width) | the output of that layer of the encoder |
| `output` | (rows, tokens, width) or (rows, width) | the encoder's output |
| `contexts` | (rows, labels, width) | the context vectors of label attention, a block of labels at a time |
| `hidden` | (rows, labels, units) | the first hidden layer of a head that all labels share, likewise |
| `pairs` | (pairs, width) | context vectors of the pairs of row and label that the mixing asks for |

At `tokens` a mixing replaces ids (`replaced_tokens`). At `pairs` it asks for the context vectors of some
pairs, and says which pairs are replaced: by which vectors, with which targets (`replaced_pairs`). All other
pairs stay as they are, and no context vector is made for them. At every other point it maps the activations
of all rows to mixed ones (`activations`), linearly, and the rows then learn the mixing's `targets`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np
import torch

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.text.sequences import TokenBatch


class ContextVectors(Protocol):
    """The context vectors of a batch, made for the labels that they are asked of."""

    @property
    def candidates(self) -> np.ndarray | None:
        """(rows, listed) int64: the labels that each row is scored for, -1 for none; None: all labels."""
        ...

    def __call__(self, rows: np.ndarray, labels: np.ndarray) -> torch.Tensor:
        """(pairs, width), with a graph: those of the labels (pairs,) in the rows (pairs,) of the batch."""
        ...


@dataclass(frozen=True, eq=False)
class ReplacedPairs:
    """Pairs of row and label with other targets, each pair at most once.

    The first of them also have other context vectors; the rest keep theirs.
    """

    rows: np.ndarray  # (pairs,) int64
    labels: np.ndarray  # (pairs,) int64
    contexts: torch.Tensor  # (replaced <= pairs, width)
    targets: np.ndarray  # (pairs,) float32 in [0, 1]


class RowMixing(Protocol):
    """One batch's mixing at a point of rows."""

    @property
    def point(self) -> str: ...

    @property
    def targets(self) -> BatchTargets:
        """What the mixed rows learn."""
        ...

    def activations(
        self, states: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The mixed activations, rows first, and the mask of their tokens."""
        ...


class PairMixing(Protocol):
    """One batch's mixing at the point `pairs`."""

    @property
    def point(self) -> str: ...

    @property
    def targets(self) -> BatchTargets:
        """What the rows learn, but for the pairs that are replaced."""
        ...

    def replaced_pairs(self, contexts: ContextVectors) -> ReplacedPairs:
        """The pairs that are replaced."""
        ...


class TokenMixing(Protocol):
    """One batch's mixing at the point `tokens`."""

    @property
    def point(self) -> str: ...

    @property
    def targets(self) -> BatchTargets:
        """What the rows learn before the mixing."""
        ...

    def replaced_tokens(
        self, tokens: TokenBatch, specials: int, saliency: Callable[[], np.ndarray]
    ) -> tuple[TokenBatch, BatchTargets]:
        """The batch with other ids, and what its rows learn.

        A text has `specials` special tokens, half of them in front. `saliency` gives (rows, tokens): how much
        the loss of a row depends on each of its tokens, 1 for the one on which it depends most.
        """
        ...


Mixing: TypeAlias = RowMixing | PairMixing | TokenMixing


def mixed_at(
    point: str, mixing: Mixing | None, states: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The activations at a mix point: mixed if that is the mixing's point, else as they are."""
    if mixing is None or mixing.point != point:
        return states, mask
    return cast(RowMixing, mixing).activations(states, mask)
