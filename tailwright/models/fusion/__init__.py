"""Fusion: several models trained on the same rows, and a learnt combination of what they say (`linear+twin`).

A share of the training rows is held out from the parts. For each of these rows every part names its best
labels, and a small network (`combination`) learns from the rows' own labels how far to believe which part:
by how sure it is, whether the others name the label too, and how frequent the label is. If the corpus has
validation rows, those are used and nothing is held out.

Held-out tenths of the training rows, P@1 / PSP@5, parts `linear` (one tree) and `twin` (128 wide), one run:

| | winapi-seealso | tibkat-keywords-titles | yso-finna-en |
|---|---|---|---|
| linear | 69.3 / 44.6 | 45.5 / 20.1 | 39.6 / 31.3 |
| twin | 73.4 / 68.5 | 45.6 / 24.3 | 39.2 / 31.9 |
| a linear combination, each label by itself, of better parts | 74.7 / 67.8 | 49.5 / 25.5 | |
| the network, each label by itself | 78.9 / 69.2 | 48.9 / 25.3 | 42.5 / 34.7 |
| the network, right against wrong labels (taken) | 80.1 / 71.1 | 49.5 / 25.4 | 43.1 / 34.8 |
| that with a twin of width 256 | 80.8 / 72.7 | 49.9 / 26.0 | |
| and three trees | 81.6 / 72.9 | 49.9 / 26.5 | |
| `linear` with three trees and label texts as rows, alone | 73.8 / 61.1 | 47.9 / 24.1 | |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailwright.settings import Settings, setting

# Defaults of parts inside a fusion that differ from those of the models alone: parts make up for each other's
# weaknesses, so much cheaper ones do (see the table above).
INSIDE: dict[str, dict[str, Any]] = {"linear": {"trees": 1}, "twin": {"width": 128}}


@dataclass(frozen=True)
class FusionSettings(Settings):
    """What can be set of every fusion; settings of its parts nest under the parts' names."""

    held_out: float = setting(0.05, "share of the rows that the combination learns from", above=0, below=1)
    most_held_out: int = setting(2000, "rows that are held out at most", least=1)
    fewest: int = setting(50, "with fewer rows to learn from, all parts count alike", least=1)
    candidates: int = setting(25, "best labels that each part names for a text", least=1)
    hidden: int = setting(32, "hidden units of the combination", least=1)
    tail: float = setting(
        0.0,
        "a label's loss is multiplied by its inverse propensity to this power; 0: all alike",
        least=0,
        most=1,
    )
