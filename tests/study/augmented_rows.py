"""Small corpora with rows that some method made, for the tests of their quality."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists


def augmented(
    originals: Sequence[str],
    new: Sequence[tuple[str, int]],
    *,
    method: str = "toy",
    labels: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] = ("x", "y", "z"),
) -> Corpus:
    """Original rows, then rows that `method` made of the rows numbered in `new`, with their labels."""
    held = [[0] for _ in originals] if labels is None else labels
    made = [held[source] if source < len(held) else [0] for _, source in new]
    origin = Origin.concat(
        [
            Origin.originals(len(originals)),
            Origin.made_by(method, np.array([source for _, source in new], dtype=np.int64)),
        ]
    )
    train = Dataset(
        arrow_strings([*originals, *(text for text, _ in new)]),
        pairs_from_lists([*held, *made], len(names)),
        origin=origin,
    )
    return Corpus(
        train, LabelSpace(arrow_strings([f"id{i}" for i in range(len(names))]), arrow_strings(names))
    )
