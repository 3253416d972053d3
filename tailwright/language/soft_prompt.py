"""A deep soft prompt on T5: vectors that the encoder reads before a text, other ones in every layer.

The first positions of what layer j reads are overwritten by the vectors of layer j, whatever layer j - 1 made
of its own. The prompt is part of the sequence: it has positions, may be attended to, and the decoder attends
to the encoder's last hidden states of it; the decoder itself has none. Prefix tuning, which puts keys and
values before those of the text, is another thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from tailwright.encoders.token_batches import chunks
from tailwright.language.settings import PromptSettings
from tailwright.language.t5 import Infiller
from tailwright.streams import stream

_TOKENS_AT_A_TIME = 4096


class PromptedT5(nn.Module):
    """A T5 with a prompt of `length` positions; with length 0 it is the T5 alone."""

    def __init__(self, t5: Any, length: int) -> None:
        super().__init__()
        self.t5 = t5
        self.shape = (t5.config.num_layers, length, t5.config.d_model)
        # One row, as XDA's authors have it in an embedding of one: Adafactor, which keeps means over rows and
        # over columns, then has a second moment for each number.
        self.prompt = nn.Parameter(torch.zeros((1, int(np.prod(self.shape)))))

    @property
    def vectors(self) -> torch.Tensor:
        """(layers, length, width)"""
        return self.prompt.view(self.shape)

    @property
    def length(self) -> int:
        return self.shape[1]

    def encode(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The encoder's hidden states (rows, length + tokens, width) of (rows, tokens), and their mask."""
        if not self.length:
            return self.t5.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state, mask
        vectors = self.vectors
        embedded = self.t5.get_input_embeddings()(tokens)  # (rows, tokens, width)
        embedded = torch.cat([vectors[0].expand(len(tokens), -1, -1), embedded], 1)
        mask = torch.cat([mask.new_ones((len(mask), self.length)), mask], 1)
        with self._overwriting(vectors):
            hidden = self.t5.encoder(inputs_embeds=embedded, attention_mask=mask).last_hidden_state
        return hidden, mask

    def decode(
        self, hidden: torch.Tensor, mask: torch.Tensor, tokens: torch.Tensor, cache: Any = None
    ) -> torch.Tensor:
        """Logits (rows, tokens, vocabulary) of what follows the decoder's tokens (rows, tokens)."""
        return self.t5(
            encoder_outputs=(hidden,),
            attention_mask=mask,
            decoder_input_ids=tokens,
            past_key_values=cache,
            use_cache=cache is not None,
        ).logits

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return self.decode(*self.encode(tokens, mask), target)

    @contextmanager
    def _overwriting(self, vectors: torch.Tensor) -> Iterator[None]:
        """Until the block ends, layers after the first read their vectors at the prompt's positions."""

        def overwrite(layer: int) -> Any:
            def hook(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
                text = inputs[0][:, self.length :]  # (rows, tokens, width)
                return torch.cat([vectors[layer].expand(len(text), -1, -1), text], 1), *inputs[1:]

            return hook

        blocks = self.t5.encoder.block
        handles = [blocks[j].register_forward_pre_hook(overwrite(j)) for j in range(1, len(blocks))]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def prompted(infiller: Infiller, texts: Sequence[str], settings: PromptSettings, seed: int) -> PromptedT5:
    """The infiller's model with a prompt that has not learnt yet; some of the texts may be read for it."""
    network = PromptedT5(infiller.model, settings.length)
    random = stream(seed, "soft prompt")
    if settings.start == "normal":
        first = random.standard_normal(network.prompt.shape).astype(np.float32)
        network.prompt.data.copy_(torch.from_numpy(first))
        return network
    some = random.permutation(len(texts))[: settings.start_texts]
    states = _mean_states(infiller, [texts[int(place)] for place in np.sort(some)])  # (layers, width)
    words = torch.from_numpy(random.integers(len(infiller.tokenizer), size=settings.length))
    with torch.no_grad():
        network.vectors.copy_(states[:, None].expand(network.shape))
        network.vectors[0].copy_(infiller.model.get_input_embeddings()(words.to(infiller.model.device)))
    return network


@torch.inference_mode()
def _mean_states(infiller: Infiller, texts: Sequence[str]) -> torch.Tensor:
    """(layers, width): what each layer of the encoder reads, averaged over all tokens of the texts."""
    tokens = infiller.sources([""] * len(texts), [[text] for text in texts])
    lengths = np.array([len(of_text) for of_text in tokens], np.int64)
    total: Any = 0
    for places in chunks(lengths, _TOKENS_AT_A_TIME):
        ids, mask = padded_tokens([tokens[place] for place in places], infiller.pad, infiller.model.device)
        encoder: Any = infiller.model.encoder
        hidden = encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        total = total + torch.stack([(layer * mask[:, :, None]).sum((0, 1)) for layer in hidden[:-1]])
    return total / max(int(lengths.sum()), 1)


def padded_tokens(
    rows: Sequence[Sequence[int]], pad: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """(rows, longest) tokens, padded on the right, and 1 in a mask where a token is."""
    longest = max(map(len, rows))
    tokens = torch.full((len(rows), longest), pad)
    mask = torch.zeros((len(rows), longest), dtype=torch.long)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[place, : len(row)] = 1
    return tokens.to(device), mask.to(device)
