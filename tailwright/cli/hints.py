"""What the command that is suggested next is made of: names that are free, a text to predict."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

LONGEST_TEXT = 60  # of a text in a suggested command


def free_name(name: str) -> str:
    """The name, or the first of NAME-2, NAME-3, ... that nothing here has."""
    numbered = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(one for one in numbered if not Path(one).exists())


def trained_on(words: Sequence[str], *options: str) -> list[str]:
    """The words that train on a corpus that other words name; nothing if these are none."""
    return ["train", *words, *options, "--out", free_name("run")] if words else []


def predicted(run: Path, texts: pa.LargeStringArray) -> list[str]:
    """The words that predict the beginning of a text, the first that fits on a command line; or none."""
    for text in texts.slice(0, 20).to_pylist():
        words = " ".join(text.split())
        if len(words) > LONGEST_TEXT:
            words = words[: LONGEST_TEXT + 1].rpartition(" ")[0] or words[:LONGEST_TEXT]
        if words and words.isprintable() and not words.startswith("-"):
            return ["predict", str(run), words]
    return []
