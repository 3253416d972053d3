"""`Generator`: a language model that writes a target text for a source text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class Generator:
    """A model and the layout of what it reads and writes: source, separator, target, end."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    separator: tuple[int, ...]  # the tokens after a source
    end: int  # the token after a target
    positions: int  # tokens in the longest sequence that the model takes
    lower_case: bool  # whether texts are lower-cased, on both sides

    def tokens(self, text: str) -> list[int]:
        """A text as tokens, without special ones."""
        return self.all_tokens([text])[0]

    def all_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts as tokens, each on one line; the name of a special token within a text is plain text."""
        if not texts:
            return []
        lines = [" ".join((text.lower() if self.lower_case else text).split()) for text in texts]
        return self.tokenizer(
            lines,
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            verbose=False,
        )["input_ids"]

    def prompt(self, source: str) -> list[int]:
        """What the model continues with a target."""
        return [*self.tokens(source), *self.separator]

    def text(self, tokens: Sequence[int]) -> str:
        """The text of a target up to its end, with single spaces for all white space."""
        target = list(tokens)
        if self.end in target:
            target = target[: target.index(self.end)]
        return " ".join(str(self.tokenizer.decode(target, skip_special_tokens=True)).split())
