"""Greedy decoding by a T5: for each source the likeliest token after the other, many sources at a time.

Tokens are those of `generate(num_beams=1, ...)` of transformers under the same rules, with less work: keys
and values are cached, a source leaves the batch when its answer is complete, and it is complete as soon as
everything after it would be dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from transformers.cache_utils import Cache, EncoderDecoderCache

from tailwright.language.cached_sequences import CachedLayer, places_of
from tailwright.language.soft_prompt import PromptedT5, padded_tokens
from tailwright.language.t5 import Infiller


@dataclass(frozen=True)
class GreedyRules:
    """What an answer may be."""

    repetition_penalty: float = 1.0  # logits of its own tokens are divided by it, or multiplied if negative
    no_repeat: int = 0  # no run of so many tokens comes twice; 0: no such rule
    most_tokens: int = 128


@torch.inference_mode()
def greedy_answers(
    network: PromptedT5,
    infiller: Infiller,
    sources: Sequence[Sequence[int]],
    blanks: Sequence[int],
    rules: GreedyRules,
) -> list[list[int]]:
    """The tokens that answer each source, which asks for so many blanks.

    An answer is complete at its end token, or at one sentinel more than it has blanks.
    """
    device = network.prompt.device
    tokens, mask = padded_tokens(sources, infiller.pad, device)
    hidden, mask = network.encode(tokens, mask)
    cache = EncoderDecoderCache(*(Cache(layer_class_to_replicate=CachedLayer) for _ in range(2)))
    is_sentinel = torch.zeros(network.t5.config.vocab_size, dtype=torch.long, device=device)
    is_sentinel[list(infiller.sentinels)] = 1
    forbidden = torch.tensor(infiller.forbidden, dtype=torch.long, device=device)
    at = list(range(len(sources)))  # the source at each place
    left = torch.tensor(list(blanks), device=device)  # sentinels that may still follow
    written = torch.full((len(sources), 1), infiller.start, device=device)  # (places, tokens)
    answers: list[list[int]] = [[] for _ in sources]
    followers = [_Followers(rules.no_repeat) for _ in sources]
    for _ in range(rules.most_tokens):
        logits = network.decode(hidden, mask, written[:, -1:], cache)[:, -1].float()  # (places, vocabulary)
        _penalise(logits, written, rules.repetition_penalty)
        logits[:, forbidden] = -torch.inf
        for place, run in enumerate(written[:, -rules.no_repeat :].tolist() if rules.no_repeat else ()):
            repeating = followers[at[place]].after(run)
            if repeating:
                logits[place, repeating] = -torch.inf
        new = logits.argmax(1)
        for source, token in zip(at, new.tolist(), strict=True):
            answers[source].append(token)
        written = torch.cat([written, new[:, None]], 1)
        left = left - is_sentinel[new]
        going_on = (new != infiller.end) & (new != infiller.pad) & (left >= 0)
        if not going_on.any():
            break
        if not going_on.all():
            places = places_of(going_on)
            _leave(cache, places)
            at = [at[place] for place in places.tolist()]
            written, left, mask = written[places], left[places], mask[places]
            # Its keys and values are cached: from here on only its shape is looked at.
            hidden = hidden[: len(places)]
    return answers


def _penalise(logits: torch.Tensor, written: torch.Tensor, penalty: float) -> None:
    """Make tokens less likely that are already written, those of (places, tokens) in (places, vocabulary)."""
    if penalty != 1:
        found = logits.gather(1, written)
        logits.scatter_(1, written, torch.where(found < 0, found * penalty, found / penalty))


class _Followers:
    """The tokens that have followed each run of tokens in one answer, so that no longer run comes twice."""

    def __init__(self, run: int) -> None:
        self.run = run
        self._after: dict[tuple[int, ...], list[int]] = defaultdict(list)

    def after(self, last: Sequence[int]) -> list[int]:
        """The tokens that may not be next; `last` are the `run` last ones, the newest new since last time."""
        if len(last) == self.run:
            self._after[tuple(last[:-1])].append(last[-1])
            last = last[1:]
        return self._after.get(tuple(last), [])


def _leave(cache: EncoderDecoderCache, places: torch.Tensor) -> None:
    """Go on with some places only: place i holds what was at `places[i]`, which is mostly i itself."""
    moved = (places != torch.arange(len(places), device=places.device)).nonzero().flatten()
    for part in (cache.self_attention_cache, cache.cross_attention_cache):
        for layer in cast("list[CachedLayer]", part.layers):
            layer.move(moved, places[moved], len(places))
