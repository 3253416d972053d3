"""How the score of twin splits over the words of a text.

    score = scale u v        u = y / |y|        y = x + relu(x) W        x = the sum of a_c e_c over columns c

relu(x) is x where x is positive and 0 elsewhere. With these places and |y| held as they are for the whole
text, y is linear in x, so a column adds scale a_c (e_c + (e_c where x > 0) W) v / |y|, and all columns add up
to the score exactly. It is no forecast of the score without the word: |y| and the places would change too.

A column is a word or a sub-word piece. A piece counts for the words that it was cut from, by occurrence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tailwright.data.text.words import split_words
from tailwright.encoders.bags import Bags
from tailwright.encoders.subwords import SubwordTfIdf, cut_word
from tailwright.models.shared.reasons import Reasons, word_shares
from tailwright.models.twin.network import TwinVectors
from tailwright.models.twin.sides import lengths_of, residual


def column_shares(vectors: TwinVectors, bag: Bags, labels: np.ndarray) -> np.ndarray:
    """(columns of the one text in `bag`, labels) float32: what each column adds to each label's score."""
    added = bag.weights[:, None] * vectors.words[bag.words]  # (columns, width): a_c e_c
    sums = bag.sum(vectors.words)  # (1, width): x
    length = lengths_of(residual(sums, vectors.text_layer))
    added += (added * (sums > 0)) @ vectors.text_layer
    shares: np.ndarray = added @ vectors.labels[labels].T
    return shares * np.float32(vectors.scale) / length


def reasons(text: str, features: SubwordTfIdf, bag: Bags, shares: np.ndarray, scale: float) -> Reasons:
    """Of one label, whose columns in the text's `bag` have these `shares` (columns,)."""
    known = len(features.words.vocabulary)
    is_word = bag.words < known
    words = features.words.vocabulary.take(pa.array(bag.words[is_word])).to_pylist()
    pieces = features.pieces.take(pa.array(bag.words[~is_word] - known)).to_pylist()
    values = dict(zip(words, shares[is_word].tolist(), strict=True))
    of_pieces = _by_word(
        text, features.settings.length, dict(zip(pieces, shares[~is_word].tolist(), strict=True))
    )
    cut = of_pieces.keys() - values.keys()
    for word, value in of_pieces.items():
        values[word] = values.get(word, 0.0) + value
    return Reasons(f"score, which is the cosine x {scale:.1f}", word_shares(text, values, cut), exact=True)


def _by_word(text: str, length: int, shares: Mapping[str, float]) -> dict[str, float]:
    """What the words of a text get of the `shares` of pieces; a word without a known piece is left out."""
    occurrences: defaultdict[str, Counter[str]] = defaultdict(Counter)  # of each piece, by word
    for word in split_words(text):
        for piece in cut_word(word, length):
            occurrences[piece][word] += 1
    values: defaultdict[str, float] = defaultdict(float)
    for piece, share in shares.items():
        for word, count in occurrences[piece].items():
            values[word] += share * count / occurrences[piece].total()
    return dict(values)
