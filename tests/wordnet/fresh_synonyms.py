"""Synonym arrays as a new process would load or make them."""

from __future__ import annotations

import numpy as np

from tailwright.data.synonyms import _arrays_of, _digest_of, wordnet_arrays
from tailwright.kernels.edits import Names


def fresh_arrays(inflections: bool = False) -> Names:
    """`wordnet_arrays`, without what this process remembers."""
    _arrays_of.cache_clear()
    _digest_of.cache_clear()
    return wordnet_arrays("textattack", inflections)


def same_arrays(one: Names, other: Names) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
