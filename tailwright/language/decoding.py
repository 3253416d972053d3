"""`DecodingSettings`: how a generator is asked for texts, and which of them are good enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What a target may be longer than `max_growth` times its source, so that a source of one word may grow too.
GROWTH_TOKENS = 16


@dataclass(frozen=True)
class DecodingSettings:
    """
    | setting | meaning |
    |---|---|
    | `decoding` | `beam`: the likeliest texts, as in the GDA paper; `sampling`: texts drawn from the model |
    | `beams` | beam: how many texts are followed at a time, and how many candidates a source gets |
    | `samples` | sampling: how many candidates a source gets |
    | `top_p` | sampling: only the likeliest tokens that hold this share of the probability are drawn |
    | `temperature` | sampling: below 1 likely tokens become likelier, above 1 less so |
    | `length_penalty` | a score is a log-probability / tokens ** this: the higher, the longer the texts |
    | `max_new_tokens` | the longest target, where the model has room for it |
    | `max_growth` | the longest target in times its source's tokens, and 16 more; none: no such bound |
    | `max_similarity` | texts that match their source by a higher ratio of words are passed over; none: off |
    | `batch_tokens` | tokens of all texts written at a time, prompts included: it bounds the memory |
    | `shard_rows` | sources in one shard: what a kill loses at most |

    `max_growth` guards against beams that go round in circles until `max_new_tokens`, which take longer than
    all good texts of their batch. Of 4,133 pairs of titles with the same keywords (tibkat-keywords-titles)
    1.6 % have a target beyond 4.
    """

    decoding: Literal["beam", "sampling"] = "beam"
    beams: int = 10
    samples: int = 4
    top_p: float = 0.9
    temperature: float = 1.0
    length_penalty: float = 1.0
    max_new_tokens: int = 256
    max_growth: float | None = 4.0
    max_similarity: float | None = None
    batch_tokens: int = 16_384
    shard_rows: int = 32

    def __post_init__(self) -> None:
        if self.decoding not in {"beam", "sampling"}:
            raise ValueError(f"decoding must be beam or sampling, got {self.decoding!r}")
        for name in ("beams", "samples", "max_new_tokens", "batch_tokens", "shard_rows"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}")
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature must be > 0, got {self.temperature}")
        if not -float("inf") < self.length_penalty < float("inf"):
            raise ValueError(f"length_penalty must be a number, got {self.length_penalty}")
        if self.max_growth is not None and not self.max_growth > 0:
            raise ValueError(f"max_growth must be > 0 or none, got {self.max_growth}")
        if self.max_similarity is not None and not 0 <= self.max_similarity <= 1:
            raise ValueError(f"max_similarity must be in [0, 1] or none, got {self.max_similarity}")

    @property
    def candidates(self) -> int:
        """How many texts a source gets to choose from."""
        return self.beams if self.decoding == "beam" else self.samples

    def new_tokens(self, source_tokens: int, positions: int) -> int:
        """The longest target of a source, its end token included; at most half of a model's positions."""
        most = min(self.max_new_tokens, max(positions // 2, 1))
        if self.max_growth is None:
            return most
        return min(most, int(self.max_growth * source_tokens) + GROWTH_TOKENS)
