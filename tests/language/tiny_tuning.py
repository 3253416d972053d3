"""Tunes a tiny model and prints the hash of what it learnt; tests kill it and start it again."""

from __future__ import annotations

import hashlib
import sys

import pyarrow as pa

from tailwright.language.generator import Generator
from tailwright.language.pairs import TextPairs
from tailwright.language.settings import TuningSettings
from tailwright.language.tuning import tuned_generator
from tailwright.streams import stream

WORDS = ("red", "green", "blue", "big", "small", "cat", "dog", "house", "tree", "car", "sun", "moon", "sea")


def text_pairs(sources: list[str], targets: list[str]) -> TextPairs:
    return TextPairs(pa.array(sources, pa.large_string()), pa.array(targets, pa.large_string()))


def copies(count: int) -> TextPairs:
    """Three to seven words, and the same words again: what a tiny model can learn."""
    random = stream(0, "copies")
    texts = [" ".join(random.choice(WORDS, random.integers(3, 8))) for _ in range(count)]
    return text_pairs(texts, texts)


def settings(tuning: str, **others: object) -> TuningSettings:
    return TuningSettings(
        mode=tuning, epochs=3, batch=8, rate=3e-3, patience=3, checkpoint_seconds=0, **others
    )


def digest(generator: Generator) -> str:
    found = hashlib.sha256()
    for name, part in sorted(generator.model.state_dict().items()):
        found.update(name.encode() + part.numpy().tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    print(digest(tuned_generator(sys.argv[1], copies(60), settings(sys.argv[2]), seed=5)))
