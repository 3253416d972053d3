"""`TextPairs`: what a generator is tuned on, a source text and the target to be written for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailwright.streams import stream

FEWEST_TO_HOLD_OUT = 10  # of fewer pairs, one held out would be missed more than it tells


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Columns of equal length: `targets[i]` is written for `sources[i]`."""

    sources: pa.LargeStringArray
    targets: pa.LargeStringArray

    def __post_init__(self) -> None:
        if len(self.sources) != len(self.targets):
            raise ValueError(f"{len(self.sources)} sources, but {len(self.targets)} targets")

    def __len__(self) -> int:
        return len(self.sources)

    def take(self, places: np.ndarray) -> TextPairs:
        """The pairs at these places, in their order."""
        return TextPairs(self.sources.take(pa.array(places)), self.targets.take(pa.array(places)))

    def split(self, share: float, seed: int) -> tuple[TextPairs, TextPairs]:
        """What is learnt from, and a share that is held out; the order within both stays as it is.

        Two texts that are a pair in both directions are on the same side, else the one would give away the
        other. With fewer than `FEWEST_TO_HOLD_OUT` such twosomes nothing is held out.
        """
        twosomes: dict[tuple[str, ...], int] = {}
        of_pair = np.array(
            [
                twosomes.setdefault(tuple(sorted(texts)), len(twosomes))
                for texts in zip(self.sources.to_pylist(), self.targets.to_pylist(), strict=True)
            ],
            dtype=np.int64,
        )
        count = max(round(share * len(twosomes)), 1)
        if share == 0 or len(twosomes) < FEWEST_TO_HOLD_OUT:
            count = 0
        out = np.zeros(len(twosomes), dtype=bool)
        out[stream(seed, "generator/held-out").permutation(len(twosomes))[:count]] = True
        held = out[of_pair]
        return self.take(np.flatnonzero(~held)), self.take(np.flatnonzero(held))
