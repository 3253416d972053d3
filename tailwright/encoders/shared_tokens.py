"""A tokenizer's ids of a column of texts, made once for all trainings that share their work."""

from __future__ import annotations

from tailwright.code_version import code_version
from tailwright.data.dataset import arrow_strings
from tailwright.data.text.huggingface import HuggingFaceTokenizer
from tailwright.data.text.sequences import TokenRows
from tailwright.data.text.words import Texts
from tailwright.store.shared import content_key, shared


def shared_tokens(tokenizer: HuggingFaceTokenizer, texts: Texts, max_tokens: int) -> TokenRows:
    """`tokenizer.rows(texts, max_tokens)`; see `tailwright.store.shared`.

    The words of a `WordVocabulary` are numbered as quickly as they are loaded: they are not shared.
    """
    rows = arrow_strings(texts)
    version = ["tailwright.data.text.huggingface"]
    return shared(
        "tokens",
        lambda: content_key(code_version(version), tokenizer.identity, max_tokens, rows),
        lambda: tokenizer.rows(rows, max_tokens),
        lambda folder, made: made.save(folder),
        lambda folder: TokenRows.load(folder, rows=len(rows), size=tokenizer.size),
    )
