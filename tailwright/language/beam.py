"""Beam search: the likeliest continuations of many prompts at a time.

It finds what `generate(num_beams=..., early_stopping=False)` of transformers finds, with less work: a prompt
is computed once and not once a beam, it leaves the batch as soon as no running beam can beat its finished
ones, and log-probabilities are taken of the candidates alone, not of the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from tailwright.errors import InputError
from tailwright.language.continuing import Continuations, places_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_NEVER = -1.0e9  # a score below all that can be reached


@dataclass(frozen=True)
class Candidate:
    """A continuation: its tokens, the end token included where it came, and its score."""

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
) -> list[list[Candidate]]:
    """For each prompt its `beams` best continuations, best first, of at most `limits` tokens each.

    A score is the log-probability divided by tokens ** length_penalty, the end token included. What reaches
    its limit counts as finished. A prompt is done when its best running beam scores no higher, at its present
    length, than the worst of `beams` finished ones.
    """
    continuations = Continuations(model, prompts)
    if continuations.logits.shape[1] < 2 * beams:
        raise InputError(f"beams is {beams}", expected=f"at most {continuations.logits.shape[1] // 2}")
    search = _Search(limits, beams, end, length_penalty, model.device)
    tokens, parents = search.begin(continuations.logits)
    continuations.spread(beams)
    while True:
        going_on = search.going_on()
        if not going_on.any():
            return search.found()
        if not going_on.all():
            places = places_of(going_on)
            continuations.leave(places, beams)
            tokens, parents = search.leave(places, tokens, parents)
        tokens, parents = search.advance(continuations.step(tokens.flatten(), _flat(parents)))


class _Search:
    """Running and finished beams of the prompts that go on."""

    def __init__(
        self, limits: Sequence[int], beams: int, end: int, length_penalty: float, device: torch.device
    ) -> None:
        self.beams, self.end, self.length_penalty = beams, end, length_penalty
        prompts = len(limits)
        self._done: list[list[Candidate]] = [[] for _ in limits]
        self._prompt = torch.arange(prompts, device=device)  # which prompt each place holds
        self._limit = torch.tensor(list(limits), device=device)
        self._length = 0
        self._running = torch.zeros((prompts, beams), device=device)  # (prompts, beams) log-probabilities
        self._text = torch.zeros((prompts, beams, 0), dtype=torch.long, device=device)
        self._finished = torch.full((prompts, beams), _NEVER, device=device)  # (prompts, beams) scores
        longest = max(limits)
        self._finished_text = torch.full((prompts, beams, longest), end, device=device)
        self._finished_length = torch.zeros((prompts, beams), dtype=torch.long, device=device)

    def begin(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(prompts, beams) first tokens from the logits of the prompts, (prompts, vocabulary)."""
        best, tokens = logits.topk(2 * self.beams)
        scores = best - logits.logsumexp(1, keepdim=True)
        return self._take(scores, tokens, torch.zeros_like(tokens))

    def advance(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(prompts, beams) next tokens and the beams that they follow; logits are (all beams, vocabulary)."""
        best, tokens = logits.topk(2 * self.beams)  # no beam can have more among the best of its prompt
        scores = best - logits.logsumexp(1, keepdim=True) + self._running.reshape(-1, 1)
        prompts, wide = len(self._running), 2 * self.beams
        scores, chosen = scores.view(prompts, -1).topk(wide)  # (prompts, 2 beams)
        return self._take(scores, tokens.view(prompts, -1).gather(1, chosen), chosen // wide)

    def _take(
        self, scores: torch.Tensor, tokens: torch.Tensor, parents: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Sort candidates, (prompts, 2 beams) and best first, into finished ones and those that run on."""
        self._length += 1
        ends = (tokens == self.end) | (self._length >= self._limit)[:, None]
        # Only the better half may finish; the other half is there so that enough are left to run.
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
        """(prompts,) bool: which can still get better."""
        best = self._running[:, 0] / self._length**self.length_penalty
        return (best > self._finished[:, -1]) & (self._length < self._limit)

    def leave(
        self, places: torch.Tensor, tokens: torch.Tensor, parents: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep the candidates of what is done and go on with `places`; next tokens and parents of these."""
        done = torch.ones(len(self._prompt), dtype=torch.bool, device=places.device)
        done[places] = False
        self._collect(done.nonzero().flatten())
        self._prompt, self._limit = self._prompt[places], self._limit[places]
        self._running, self._text = self._running[places], self._text[places]
        self._finished, self._finished_text = self._finished[places], self._finished_text[places]
        self._finished_length = self._finished_length[places]
        return tokens[places], parents[places]

    def found(self) -> list[list[Candidate]]:
        """The candidates of all prompts."""
        self._collect(torch.arange(len(self._prompt), device=self._prompt.device))
        return self._done

    def _collect(self, places: torch.Tensor) -> None:
        for place in places.tolist():
            texts, lengths = self._finished_text[place].tolist(), self._finished_length[place].tolist()
            self._done[int(self._prompt[place])] = [
                Candidate(tuple(text[:length]), score)
                for text, length, score in zip(texts, lengths, self._finished[place].tolist(), strict=True)
            ]


def _beams(texts: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    """(prompts, which, tokens): those beams of (prompts, beams, tokens)."""
    return texts.gather(1, which[:, :, None].expand(-1, -1, texts.shape[2]))


def _flat(parents: torch.Tensor) -> torch.Tensor:
    """(prompts x beams,): places of (prompts, beams) among all sequences."""
    start = torch.arange(len(parents), device=parents.device) * parents.shape[1]
    return (parents + start[:, None]).flatten()
