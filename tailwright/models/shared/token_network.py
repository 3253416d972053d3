"""`TokenNetwork`: an encoder and a head put together, which is all that most classifiers over tokens are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.text.sequences import TokenBatch, TokenRows
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.token_batches import chunks, put_back
from tailwright.evaluation.ranking import TopK
from tailwright.progress import Advance

TOKENS_A_PASS = 1 << 12  # that a network reads at once when it predicts
ROWS_A_PASS = 256


class TokenNetwork(nn.Module):
    """Reads texts by `encoder`, and scores all labels by `head`; `drop` is the dropout between them."""

    def __init__(self, encoder: nn.Module, head: nn.Module, drop: float = 0.0) -> None:
        super().__init__()
        self.encoder: Any = encoder  # a TextEncoder
        self.dropout = Dropout(drop)
        self.head: Any = head  # loss, logits and ranking, as heads.blockwise has them

    def forward(self, encoded: Encoded, targets: BatchTargets, **options: Any) -> torch.Tensor:
        """The loss of texts that the encoder, or a file of its features, has read."""
        states = self.dropout(encoded.states)
        loss: torch.Tensor = self.head(Encoded(states, encoded.mask), targets, **options)
        return loss

    def top_k(self, batch: TokenBatch, k: int) -> TopK:
        """The k best labels of each text with their log-odds."""
        ranking: TopK = self.head.top_k(self.encoder(batch), k)
        return ranking

    @torch.no_grad()
    def vectors(self, tokens: TokenRows) -> np.ndarray:
        """(rows, width) float32: the encoder's state of each text, or the mean of its tokens' states."""
        groups = chunks(tokens.lengths, TOKENS_A_PASS, ROWS_A_PASS)
        if not groups:
            return np.empty((0, self.encoder.width), dtype=np.float32)
        return put_back(groups, [self.encoder(tokens.batch(rows)).mean().cpu().numpy() for rows in groups])

    @property
    def mix_points(self) -> tuple[str, ...]:
        """The mix points of the head; those before it are the reader's, which may be a file of features."""
        points: tuple[str, ...] = self.head.mix_points
        return points


@torch.no_grad()
def ranked(
    lengths: np.ndarray,
    top_k: Callable[[np.ndarray], TopK],
    k: int,
    advance: Advance = lambda rows: None,
) -> TopK:
    """The ranking of rows of these lengths, in their order; `top_k` is asked for groups of similar length."""
    groups = chunks(lengths, TOKENS_A_PASS, ROWS_A_PASS)
    rankings = []
    for rows in groups:
        rankings.append(top_k(rows))
        advance(len(rows))
    if not rankings:
        return TopK(np.empty((0, k), dtype=np.int32), np.empty((0, k), dtype=np.float32))
    ids, scores = (put_back(groups, [getattr(top, what) for top in rankings]) for what in ("ids", "scores"))
    return TopK(ids, scores)
