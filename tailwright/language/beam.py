"""Beam search: the likeliest continuations of many prompts at a time.

The result is that of `generate(num_beams=..., early_stopping=False)` of transformers, with less work: a
prompt is computed once instead of once a beam, it leaves the batch as soon as no running beam can beat its
finished ones, and log-probabilities are computed of the best tokens alone, not of the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel

from tailwright.errors import InputError
from tailwright.language.cached_sequences import CachedSequences, places_of

_NEVER = -1.0e9  # below every score


@dataclass(frozen=True)
class Continuation:
    """How a prompt goes on: its tokens, with the end token if that was reached, and its score."""

    tokens: tuple[int, ...]
    score: float


@torch.inference_mode()
def beam_search(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    *,
    beams: int,
    end: int,
    length_penalty: float = 1.0,
) -> list[list[Continuation]]:
    """For each prompt its `beams` best continuations, best first, of at most `limits` tokens each.

    A score is the log-probability divided by tokens ** length_penalty, the end token included. A beam that
    reaches its limit is finished. A prompt is done when its best running beam, at its present length, scores
    no higher than the worst of `beams` finished ones.
    """
    sequences = CachedSequences(model, prompts)
    if sequences.logits.shape[1] < 2 * beams:
        raise InputError(f"beams is {beams}", expected=f"at most {sequences.logits.shape[1] // 2}")
    search = _BeamSearch(limits, beams, end, length_penalty, model.device)
    tokens, parents = search.begin(sequences.logits)
    sequences.spread(beams)
    while True:
        going_on = search.going_on()
        if not going_on.any():
            return search.results()
        if not going_on.all():
            places = places_of(going_on)
            sequences.leave(places, beams)
            tokens, parents = search.leave(places, tokens, parents)
        tokens, parents = search.advance(sequences.step(tokens.flatten(), _flat(parents)))


class _BeamSearch:
    """The running and finished beams of the prompts that are not done."""

    def __init__(
        self, limits: Sequence[int], beams: int, end: int, length_penalty: float, device: torch.device
    ) -> None:
        self.beams, self.end, self.length_penalty = beams, end, length_penalty
        prompts = len(limits)
        self._done: list[list[Continuation]] = [[] for _ in limits]
        self._prompt = torch.arange(prompts, device=device)  # the prompt at each place
        self._limit = torch.tensor(list(limits), device=device)
        self._length = 0
        self._running = torch.zeros((prompts, beams), device=device)  # (prompts, beams) log-probabilities
        self._text = torch.zeros((prompts, beams, 0), dtype=torch.long, device=device)
        self._finished = torch.full((prompts, beams), _NEVER, device=device)  # (prompts, beams) scores
        longest = max(limits)
        self._finished_text = torch.full((prompts, beams, longest), end, device=device)
        self._finished_length = torch.zeros((prompts, beams), dtype=torch.long, device=device)

    def begin(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(prompts, beams) first tokens, from the (prompts, vocabulary) logits of the prompts."""
        best, tokens = logits.topk(2 * self.beams)
        scores = best - logits.logsumexp(1, keepdim=True)
        return self._take(scores, tokens, torch.zeros_like(tokens))

    def advance(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(prompts, beams) next tokens and the beams they continue, from logits (all beams, vocabulary)."""
        best, tokens = logits.topk(2 * self.beams)  # no beam can have more among the best of its prompt
        scores = best - logits.logsumexp(1, keepdim=True) + self._running.reshape(-1, 1)
        prompts, wide = len(self._running), 2 * self.beams
        scores, places = scores.view(prompts, -1).topk(wide)  # (prompts, 2 beams)
        return self._take(scores, tokens.view(prompts, -1).gather(1, places), places // wide)

    def _take(
        self, scores: torch.Tensor, tokens: torch.Tensor, parents: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Sort new beams, (prompts, 2 beams) and best first, into finished and running ones."""
        self._length += 1
        ends = (tokens == self.end) | (self._length >= self._limit)[:, None]
        # Only the better half may finish; the other half makes sure that enough are left to run.
        finishing = ends[:, : self.beams]
        if finishing.any():
            self._finish(finishing, scores[:, : self.beams], tokens, parents)
        self._running, order = (scores + ends * _NEVER).topk(self.beams)
        tokens, parents = tokens.gather(1, order), parents.gather(1, order)
        self._text = torch.cat([_beams(self._text, parents), tokens[:, :, None]], 2)
        return tokens, parents

    def _finish(
        self, finishing: torch.Tensor, scores: torch.Tensor, tokens: torch.Tensor, parents: torch.Tensor
    ) -> None:
        new = (scores / self._length**self.length_penalty).masked_fill(~finishing, _NEVER)
        text = self._finished_text.new_full((*new.shape, self._finished_text.shape[2]), self.end)
        text[:, :, : self._length - 1] = _beams(self._text, parents[:, : self.beams])
        text[:, :, self._length - 1] = tokens[:, : self.beams]
        self._finished, order = torch.cat([self._finished, new], 1).topk(self.beams)
        self._finished_text = _beams(torch.cat([self._finished_text, text], 1), order)
        length = torch.full_like(self._finished_length, self._length)
        self._finished_length = torch.cat([self._finished_length, length], 1).gather(1, order)

    def going_on(self) -> torch.Tensor:
        """(prompts,) bool: which can still find a better beam."""
        best = self._running[:, 0] / self._length**self.length_penalty
        return (best > self._finished[:, -1]) & (self._length < self._limit)

    def leave(
        self, places: torch.Tensor, tokens: torch.Tensor, parents: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Collect what is done and go on with the prompts at `places`: their next tokens and parents."""
        done = torch.ones(len(self._prompt), dtype=torch.bool, device=places.device)
        done[places] = False
        self._collect(done.nonzero().flatten())
        self._prompt, self._limit = self._prompt[places], self._limit[places]
        self._running, self._text = self._running[places], self._text[places]
        self._finished, self._finished_text = self._finished[places], self._finished_text[places]
        self._finished_length = self._finished_length[places]
        return tokens[places], parents[places]

    def results(self) -> list[list[Continuation]]:
        """The continuations of all prompts."""
        self._collect(torch.arange(len(self._prompt), device=self._prompt.device))
        return self._done

    def _collect(self, places: torch.Tensor) -> None:
        for place in places.tolist():
            texts, lengths = self._finished_text[place].tolist(), self._finished_length[place].tolist()
            self._done[int(self._prompt[place])] = [
                Continuation(tuple(text[:length]), score)
                for text, length, score in zip(texts, lengths, self._finished[place].tolist(), strict=True)
            ]


def _beams(texts: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    """(prompts, which, tokens): those beams of (prompts, beams, tokens)."""
    return texts.gather(1, which[:, :, None].expand(-1, -1, texts.shape[2]))


def _flat(parents: torch.Tensor) -> torch.Tensor:
    """(prompts x beams,): places of (prompts, beams) among all sequences."""
    start = torch.arange(len(parents), device=parents.device) * parents.shape[1]
    return (parents + start[:, None]).flatten()
