"""Texts to words, TF-IDF and token ids. Names load their module, and numba with it, when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailwright.data.text.huggingface import HuggingFaceTokenizer
    from tailwright.data.text.sequences import SequenceTokenizer, TokenBatch, TokenRows
    from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
    from tailwright.data.text.vocabulary import WordVocabulary, WordVocabularySettings
    from tailwright.data.text.words import Tokens, WordTable, split_words, tokenise, word_counts

_MODULE_OF = {
    "HuggingFaceTokenizer": "huggingface",
    "SequenceTokenizer": "sequences",
    "TfIdf": "tfidf",
    "TfIdfSettings": "tfidf",
    "TokenBatch": "sequences",
    "TokenRows": "sequences",
    "Tokens": "words",
    "WordTable": "words",
    "WordVocabulary": "vocabulary",
    "WordVocabularySettings": "vocabulary",
    "split_words": "words",
    "tokenise": "words",
    "word_counts": "words",
}

__all__ = [
    "HuggingFaceTokenizer",
    "SequenceTokenizer",
    "TfIdf",
    "TfIdfSettings",
    "TokenBatch",
    "TokenRows",
    "Tokens",
    "WordTable",
    "WordVocabulary",
    "WordVocabularySettings",
    "split_words",
    "tokenise",
    "word_counts",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
