"""`Generator`: a causal language model that writes a target text for a source text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class Generator:
    """A model with the layout that it was tuned on: source, separator, target, end.

    | field | holds |
    |---|---|
    | `separator`, `end` | the tokens behind a source, and the one behind a target |
    | `positions` | the longest sequence that the model takes |
    | `lower_case` | texts are in small letters, on both sides |
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    separator: tuple[int, ...]
    end: int
    positions: int
    lower_case: bool

    def tokens(self, text: str) -> list[int]:
        """A text as tokens, without any special one."""
        return self.all_tokens([text])[0]

    def all_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts as tokens, in one line each; the name of a special token within is a text like any other."""
        if not texts:
            return []
        written = [" ".join((text.lower() if self.lower_case else text).split()) for text in texts]
        found: list[list[int]] = self.tokenizer(
            written,
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            verbose=False,
        )["input_ids"]
        return found

    def prompt(self, source: str) -> list[int]:
        """What the model is to continue with a target."""
        return [*self.tokens(source), *self.separator]

    def text(self, tokens: Sequence[int]) -> str:
        """The text of a target, up to its end, in single spaces where it has line ends or runs of them."""
        kept = list(tokens)
        if self.end in kept:
            kept = kept[: kept.index(self.end)]
        return " ".join(str(self.tokenizer.decode(kept, skip_special_tokens=True)).split())
