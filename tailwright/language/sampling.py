"""Sampling: continuations drawn from the model's distribution, cut to its likeliest tokens (top-p).

Each prompt draws from the stream of its own row, so that its texts depend neither on the batch that it is in
nor on what was done before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailwright.language.beam import Candidate
from tailwright.language.continuing import Continuations, places_of
from tailwright.streams import stream

if TYPE_CHECKING:
    from transformers import PreTrainedModel

METHOD = "sampled text"
# Nearly always these hold `top_p` of the probability, and finding them takes a fraction of a full sort.
_LIKELIEST = 64


@torch.inference_mode()
def sampled(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    rows: Sequence[int],
    *,
    samples: int,
    end: int,
    seed: int,
    top_p: float = 1.0,
    temperature: float = 1.0,
    length_penalty: float = 1.0,
) -> list[list[Candidate]]:
    """For each prompt `samples` continuations of at most `limits` tokens, highest score first.

    `rows` are the numbers of the streams that the prompts draw from. A score is what `beam_search` has it to
    be, under the model's own distribution, whatever the temperature.
    """
    continuations = Continuations(model, prompts)
    device = model.device
    longest = max(limits)
    # (steps, prompts x samples): each sequence's draws
    draws = torch.from_numpy(
        np.concatenate([stream(seed, METHOD, row).random((longest, samples)) for row in rows], axis=1)
    ).to(device)
    limit = torch.tensor(list(limits), device=device).repeat_interleave(samples)
    sequence = torch.arange(len(limit), device=device)  # which sequence each place holds
    texts: list[list[int]] = [[] for _ in range(len(limit))]
    score = torch.zeros(len(limit), dtype=torch.float64, device=device)
    logits = continuations.logits.repeat_interleave(samples, 0)
    continuations.spread(samples)
    for step in range(longest):
        tokens = drawn(logits, draws[step, sequence], top_p, temperature)
        score[sequence] += (logits.gather(1, tokens[:, None])[:, 0] - logits.logsumexp(1)).double()
        for place, token in zip(sequence.tolist(), tokens.tolist(), strict=True):
            texts[place].append(token)
        going_on = (tokens != end) & (step + 1 < limit[sequence])
        if not going_on.any():
            break
        if not going_on.all():
            places = places_of(going_on)
            continuations.leave(places, 1)
            sequence, tokens = sequence[places], tokens[places]
        logits = continuations.step(tokens)
    candidates = [
        Candidate(tuple(text), total / len(text) ** length_penalty)
        for text, total in zip(texts, score.tolist(), strict=True)
    ]
    return [
        sorted(candidates[first : first + samples], key=lambda candidate: -candidate.score)
        for first in range(0, len(candidates), samples)
    ]


def drawn(logits: torch.Tensor, draws: torch.Tensor, top_p: float, temperature: float) -> torch.Tensor:
    """(sequences,) tokens from (sequences, vocabulary) logits; `draws` are one number in [0, 1) for each.

    Of the tokens from likely to unlikely, those count that come before a share of `top_p` is full. The draw
    falls on one of them, in the same order.

    >>> logits = torch.tensor([[0.5, 0.3, 0.2]]).log()
    >>> [int(drawn(logits, torch.tensor([u]), 0.7, 1.0)) for u in (0.0, 0.6, 0.65, 0.99)]
    [0, 0, 1, 1]
    """
    warm = logits / temperature
    total = warm.logsumexp(1, keepdim=True)
    best, tokens = warm.topk(min(_LIKELIEST, warm.shape[1]))
    found, enough = _drawn_of((best - total).double().exp(), draws, top_p)
    chosen = tokens.gather(1, found[:, None])[:, 0]
    rest = (~enough).nonzero().flatten()
    if len(rest):
        best, tokens = warm[rest].sort(dim=1, descending=True, stable=True)
        found, _ = _drawn_of((best - total[rest]).double().exp(), draws[rest], top_p)
        chosen[rest] = tokens.gather(1, found[:, None])[:, 0]
    return chosen


def _drawn_of(shares: torch.Tensor, draws: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Places in (sequences, tokens) shares, likely ones first, and whether these are enough for top_p."""
    below = shares.cumsum(1)
    before = below - shares
    mass = shares.masked_fill(before >= top_p, 0).sum(1)
    place = (below <= (draws * mass)[:, None]).sum(1)
    last = (before < top_p).sum(1) - 1
    return torch.minimum(place, last), below[:, -1] >= top_p
