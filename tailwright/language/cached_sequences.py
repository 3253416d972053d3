"""`CachedSequences`: sequences that a causal language model continues token by token, many at a time.

Each prompt is computed once, however many sequences grow from it. Keys and values are cached in buffers with
room to grow, in which as little as possible is moved: only generated tokens when sequences of one prompt
change places, and only the last sequences, into the gaps, when prompts are done.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, cast

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer

_ROOM = 32  # tokens at a time


class CachedLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values of one layer, (sequences, heads, tokens, size of a head), and room for more tokens."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._rooms: list[torch.Tensor] = []
        self._prompt = 0

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self._rooms:
            self.dtype, self.device, self.is_initialized = key_states.dtype, key_states.device, True
            self._rooms = [key_states, value_states]
            self._prompt = key_states.shape[-2]
            return self._shown(len(key_states), self._prompt)
        start, end = self._tokens, self._tokens + key_states.shape[-2]
        while end > self._rooms[0].shape[-2]:
            self._rooms = [self._larger(room) for room in self._rooms]
        for room, new in zip(self._rooms, (key_states, value_states), strict=True):
            room[: len(new), :, start:end] = new
        return self._shown(len(key_states), end)

    def spread(self, copies: int) -> None:
        """Each sequence `copies` times, side by side."""
        self._rooms = [self._larger(room.repeat_interleave(copies, 0)) for room in self._rooms]
        self._shown(self._sequences * copies, self._tokens)

    def reorder(self, parents: torch.Tensor) -> None:
        """Sequence i gets what `parents[i]` has generated; both have the same prompt."""
        for room in self._rooms:
            generated = room[: self._sequences, :, self._prompt : self._tokens]
            generated.copy_(generated.index_select(0, parents))

    def move(self, to: torch.Tensor, source: torch.Tensor, sequences: int) -> None:
        """Sequences `source` move to the places `to`; the first `sequences` remain."""
        for room in self._rooms:
            room[to, :, : self._tokens] = room[source, :, : self._tokens]
        self._shown(sequences, self._tokens)

    def _larger(self, room: torch.Tensor) -> torch.Tensor:
        used = room.shape[-2]
        larger = room.new_empty((*room.shape[:2], used + _ROOM, room.shape[-1]))
        larger[:, :, :used] = room
        return larger

    def _shown(self, sequences: int, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The keys and values in use, as the model sees them."""
        self._sequences, self._tokens = sequences, tokens
        keys, values = (room[:sequences, :, :tokens] for room in self._rooms)
        self.keys, self.values = keys, values
        return keys, values


class CachedSequences:
    """The sequences that grow from some prompts: one each at first, several after `spread`."""

    def __init__(self, model: PreTrainedModel, prompts: Sequence[Sequence[int]]) -> None:
        """Prompts of unequal length are padded on the left, and the padding is masked."""
        self.model = model
        self._cache = Cache(layer_class_to_replicate=CachedLayer)
        longest = max(map(len, prompts))
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        tokens = torch.zeros((len(prompts), longest), dtype=torch.long)
        for row, prompt in enumerate(prompts):
            tokens[row, longest - len(prompt) :] = torch.tensor(prompt, dtype=torch.long)
        places = torch.arange(longest) - (longest - lengths)[:, None]  # (prompts, tokens)
        # Attention is quicker without a mask, and in batches made by length equal ones are frequent.
        self._mask = (places >= 0).long().to(model.device) if int(lengths.min()) < longest else None
        self._places = lengths.to(model.device)  # (sequences,): where the next token of each stands
        self._takes_places = "position_ids" in inspect.signature(model.forward).parameters
        self.logits = self._run(tokens.to(model.device), places.clamp(min=0).to(model.device))
        """(sequences, vocabulary): of the next token"""

    def spread(self, copies: int) -> None:
        """Each sequence `copies` times, side by side; `logits` stay those of the prompts until `step`."""
        for layer in self._layers:
            layer.spread(copies)
        self._places = self._places.repeat_interleave(copies)
        if self._mask is not None:
            self._mask = self._mask.repeat_interleave(copies, 0)

    def step(self, tokens: torch.Tensor, parents: torch.Tensor | None = None) -> torch.Tensor:
        """Append one token, (sequences,), to each sequence; (sequences, vocabulary) logits of the next.

        With `parents`, (sequences,), sequence i first becomes a copy of `parents[i]`, of the same prompt.
        """
        if parents is not None:
            for layer in self._layers:
                layer.reorder(parents)
        if self._mask is not None:
            self._mask = torch.cat([self._mask, self._mask.new_ones((len(tokens), 1))], 1)
        self.logits = self._run(tokens[:, None], self._places[:, None])
        self._places = self._places + 1
        return self.logits

    def leave(self, places: torch.Tensor, copies: int) -> None:
        """Go on with some prompts only: place i holds what was at `places[i]`, which is mostly i itself.

        `copies` is the number of sequences of a prompt.
        """
        sequences = (places[:, None] * copies + torch.arange(copies, device=places.device)).flatten()
        moved = (sequences != torch.arange(len(sequences), device=places.device)).nonzero().flatten()
        for layer in self._layers:
            layer.move(moved, sequences[moved], len(sequences))
        self._places = self._places[sequences]
        if self._mask is not None:
            self._mask = self._mask[sequences]

    @property
    def _layers(self) -> list[CachedLayer]:
        return cast("list[CachedLayer]", self._cache.layers)

    def _run(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        positions = {"position_ids": places} if self._takes_places else {}
        output = self.model(
            input_ids=tokens,
            attention_mask=self._mask,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **positions,
        )
        return output.logits[:, -1].float()


def places_of(going_on: torch.Tensor) -> torch.Tensor:
    """Where the prompts that go on, (prompts,) bool, are: in their own place, and from the end in the gaps.

    >>> places_of(torch.tensor([True, False, True, True])).tolist()
    [0, 3, 2]
    """
    left = int(going_on.sum())
    places = torch.arange(left, device=going_on.device)
    places[~going_on[:left]] = left + going_on[left:].nonzero().flatten()
    return places
