"""Sampling: continuations drawn from the model's distribution, cut to its likeliest tokens (top-p).

Each prompt draws from the stream of its own row, so its texts depend neither on its batch nor on what was
written before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from transformers import PreTrainedModel

from tailwright.language.beam import Continuation
from tailwright.language.cached_sequences import CachedSequences, places_of
from tailwright.streams import stream

METHOD = "sampled text"
# These nearly always have `top_p` of the probability, and finding them takes a fraction of a full sort.
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
) -> list[list[Continuation]]:
    """For each prompt `samples` continuations of at most `limits` tokens, highest score first.

    `rows` are the numbers of the streams that the prompts draw from. Scores are those of `beam_search`, under
    the model's own distribution whatever the temperature.
    """
    sequences = CachedSequences(model, prompts)
    device = model.device
    longest = max(limits)
    # (steps, prompts x samples)
    draws = torch.from_numpy(
        np.concatenate([stream(seed, METHOD, row).random((longest, samples)) for row in rows], axis=1)
    ).to(device)
    limit = torch.tensor(list(limits), device=device).repeat_interleave(samples)
    sequence = torch.arange(len(limit), device=device)  # the sequence at each place
    texts: list[list[int]] = [[] for _ in range(len(limit))]
    score = torch.zeros(len(limit), dtype=torch.float64, device=device)
    logits = sequences.logits.repeat_interleave(samples, 0)
    sequences.spread(samples)
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
            sequences.leave(places, 1)
            sequence, tokens = sequence[places], tokens[places]
        logits = sequences.step(tokens)
    continuations = [
        Continuation(tuple(text), total / len(text) ** length_penalty)
        for text, total in zip(texts, score.tolist(), strict=True)
    ]
    return [
        sorted(continuations[first : first + samples], key=lambda continuation: -continuation.score)
        for first in range(0, len(continuations), samples)
    ]


def drawn(logits: torch.Tensor, draws: torch.Tensor, top_p: float, temperature: float) -> torch.Tensor:
    """(sequences,) tokens from (sequences, vocabulary) logits; `draws` are one number in [0, 1) for each.

    Tokens are sorted by probability, and the likeliest that reach `top_p` together are drawn from.

    >>> logits = torch.tensor([[0.5, 0.3, 0.2]]).log()
    >>> [int(drawn(logits, torch.tensor([u]), 0.7, 1.0)) for u in (0.0, 0.6, 0.65, 0.99)]
    [0, 0, 1, 1]
    """
    warm = logits / temperature
    total = warm.logsumexp(1, keepdim=True)
    best, tokens = warm.topk(min(_LIKELIEST, warm.shape[1]))
    places, enough = _places_drawn((best - total).double().exp(), draws, top_p)
    drawn_tokens = tokens.gather(1, places[:, None])[:, 0]
    rest = (~enough).nonzero().flatten()
    if len(rest):
        best, tokens = warm[rest].sort(dim=1, descending=True, stable=True)
        places, _ = _places_drawn((best - total[rest]).double().exp(), draws[rest], top_p)
        drawn_tokens[rest] = tokens.gather(1, places[:, None])[:, 0]
    return drawn_tokens


def _places_drawn(
    probabilities: torch.Tensor, draws: torch.Tensor, top_p: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Places in (sequences, tokens) probabilities, highest first, and whether these reach `top_p`."""
    up_to = probabilities.cumsum(1)
    before = up_to - probabilities
    mass = probabilities.masked_fill(before >= top_p, 0).sum(1)
    place = (up_to <= (draws * mass)[:, None]).sum(1)
    last = (before < top_p).sum(1) - 1
    return torch.minimum(place, last), up_to[:, -1] >= top_p
