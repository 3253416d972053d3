"""`Generator`: a language model that writes a target text for a source text; and how any is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tailwright.errors import InputError, quoted
from tailwright.language.sending import SentModel, received_model, sent_model
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.training.products import quicken_products


@dataclass(frozen=True)
class Generator:
    """A model and the layout of what it reads and writes: source, separator, target, end."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    separator: tuple[int, ...]  # the tokens after a source
    end: int  # the token after a target
    positions: int  # tokens in the longest sequence that the model takes
    lower_case: bool  # whether texts are lower-cased, on both sides

    def __reduce__(self) -> tuple[Any, ...]:
        layout = (self.tokenizer, self.separator, self.end, self.positions, self.lower_case)
        return _received, (sent_model(self.model), *layout)

    def tokens(self, text: str) -> list[int]:
        """A text as tokens, without special ones."""
        return self.all_tokens([text])[0]

    def all_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts as tokens, each on one line; the name of a special token within a text is plain text."""
        lines = [" ".join((text.lower() if self.lower_case else text).split()) for text in texts]
        return plain_tokens(self.tokenizer, lines)

    def prompt(self, source: str) -> list[int]:
        """What the model continues with a target."""
        return [*self.tokens(source), *self.separator]

    def text(self, tokens: Sequence[int]) -> str:
        """The text of a target up to its end, with single spaces for all white space."""
        target = list(tokens)
        if self.end in target:
            target = target[: target.index(self.end)]
        return " ".join(str(self.tokenizer.decode(target, skip_special_tokens=True)).split())


def _received(model: SentModel, *layout: Any) -> Generator:
    return Generator(received_model(model), *layout)


def plain_tokens(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Texts as tokens, without special ones: the name of one within a text is plain text."""
    if not texts:
        return []
    return tokenizer(
        list(texts),
        add_special_tokens=False,
        split_special_tokens=True,
        return_attention_mask=False,
        verbose=False,
    )["input_ids"]


def loaded(folder: Path, model_class: Any, tokenizer_class: Any, kind: str) -> tuple[Any, Any]:
    """Model, in float32 on the CPU, and tokenizer in the folder; an InputError expects `kind`."""
    quicken_products()
    with quiet_libraries():
        try:
            tokenizer = tokenizer_class.from_pretrained(folder, trust_remote_code=False)
            model, report = model_class.from_pretrained(
                folder,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except Exception as error:  # transformers, tokenizers and safetensors raise a dozen kinds, some bare
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise InputError(f"cannot be loaded ({reason})", expected=kind, path=folder) from error
    for problem in ("missing_keys", "mismatched_keys"):
        if report[problem]:
            first = quoted(sorted(map(str, report[problem]))[0])
            lack = f"weights lack {len(report[problem])} tensors of the model, such as {first}"
            raise InputError(lack, expected=kind, path=folder)
    return model, tokenizer
