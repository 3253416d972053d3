"""What all checks stand on: `require`, and small corpora: long-tailed, soft, weighted, with all odd rows."""

from __future__ import annotations

import numpy as np

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.streams import stream

TOPICS = ("apple", "bridge", "candle", "desert", "engine", "forest", "guitar", "harbour", "island", "jacket")
FILLERS = ("old", "new", "small", "large", "red", "blue", "quick", "slow")


def tiny_corpus(rows: int = 120, seed: int = 0) -> Corpus:
    """Rows that name their labels' topics among filler words; label i has about rows / (i + 1) rows.

    The last label has a text, but no row.
    """
    labels = len(TOPICS) + 1
    odds = 1 / np.arange(1, labels)
    texts, ids = [], []
    for row in range(rows):
        draw = stream(seed, "tiny-corpus", row)
        topics = sorted({int(i) for i in draw.choice(labels - 1, size=2, p=odds / odds.sum())})
        words = [f"{TOPICS[i]} part{draw.integers(5)}" for i in topics] + list(draw.choice(FILLERS, size=3))
        texts.append(" ".join(draw.permutation(words)))
        ids.append(topics)
    label_texts = [f"{topic} things" for topic in TOPICS] + ["zeppelin things"]
    names = arrow_strings(label_texts)
    return Corpus(
        Dataset(arrow_strings(texts), pairs_from_lists(ids, labels)),
        LabelSpace(arrow_strings([str(i) for i in range(labels)]), names, names),
    )


def odd_corpus() -> Corpus:
    """Empty, one-word, non-Latin, repeated and unlabelled rows; every column differs from its default."""
    texts = [
        "",
        "word",
        "apple bridge",
        "apple bridge",
        "日本語 テキスト",
        "emoji 🎉 party",
        "   ",
        "no labels here",
    ]
    targets = pairs_from_lists(
        [[0], [1], [0, 2], [0, 2], [3], [1, 3], [2], []],
        5,
        [[1.0], [0.5], [1.0, 0.25], [1.0, 0.25], [0.75], [0.1, 1.0], [1.0], []],
    )
    none: list[list[int]] = [[] for _ in texts]
    names = arrow_strings(["apple", "word", "bridge", "party", ""])
    return Corpus(
        Dataset(
            arrow_strings(texts),
            targets,
            np.array([1, 0.5, 1, 1, 2, 1, 0, 1], dtype=np.float32),
            pairs_from_lists([[1], *none[1:]], 5),
            pairs_from_lists([*none[:5], [4], *none[6:]], 5),
        ),
        LabelSpace(arrow_strings(["a", "b", "c", "d", "e"]), names, names),
    )


def require(held: bool, otherwise: str) -> None:
    """Raise AssertionError(`otherwise`) unless `held`; unlike an assertion, under `python -O` too."""
    if not held:
        raise AssertionError(otherwise)
