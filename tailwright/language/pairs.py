"""What a generator is tuned on: pairs of texts, and the sequences of tokens that it reads them as."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch

from tailwright.language.generator import Generator
from tailwright.streams import stream

FEWEST_TO_HOLD_OUT = 10  # of fewer pairs, one held out would be missed more than it tells


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Columns of equal length: `targets[i]` is to be written for `sources[i]`."""

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
        """The pairs to learn from, and a share that is held out; both keep their order.

        Two texts that are a pair in both directions stay on the same side, or one would give the other away.
        With fewer than `FEWEST_TO_HOLD_OUT` pairs, regardless of direction, nothing is held out.
        """
        unordered: dict[tuple[str, ...], int] = {}
        of_pair = np.array(
            [
                unordered.setdefault(tuple(sorted(texts)), len(unordered))
                for texts in zip(self.sources.to_pylist(), self.targets.to_pylist(), strict=True)
            ],
            dtype=np.int64,
        )
        count = max(round(share * len(unordered)), 1)
        if share == 0 or len(unordered) < FEWEST_TO_HOLD_OUT:
            count = 0
        out = np.zeros(len(unordered), dtype=bool)
        out[stream(seed, "generator/held-out").permutation(len(unordered))[:count]] = True
        held = out[of_pair]
        return self.take(np.flatnonzero(~held)), self.take(np.flatnonzero(held))


@dataclass(frozen=True, eq=False)
class Sequences:
    """The sequences of all pairs, end to end: source, separator, target, end."""

    tokens: np.ndarray  # (all tokens,) int32
    starts: np.ndarray  # (rows + 1,) where each sequence starts in `tokens`
    targets: np.ndarray  # (rows,) where in its sequence the target starts
    cut: int  # how many sequences were longer than allowed

    @property
    def lengths(self) -> np.ndarray:
        """(rows,) tokens of each sequence."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.targets)


def sequences_of(generator: Generator, pairs: TextPairs, *, longest: int) -> Sequences:
    """The pairs as the generator reads them, none longer than `longest` or than its positions."""
    sources = generator.all_tokens(pairs.sources.to_pylist())
    targets = generator.all_tokens(pairs.targets.to_pylist())
    limit = min(longest, generator.positions)
    rows, begins, cut = [], [], 0
    for source, target in zip(sources, targets, strict=True):
        row, begin, whole = _sequence(source, generator.separator, target, generator.end, limit)
        rows.append(np.array(row, dtype=np.int32))
        begins.append(begin)
        cut += not whole
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    tokens = np.concatenate(rows) if rows else np.empty(0, np.int32)
    return Sequences(tokens, starts, np.array(begins, dtype=np.int64), cut)


def _sequence(
    source: list[int], separator: tuple[int, ...], target: list[int], end: int, limit: int
) -> tuple[list[int], int, bool]:
    """One sequence, where its target starts, and whether nothing was cut.

    In a sequence that is too long each side may have half of the room. A target that is cut has no end, or
    the model would learn to stop in the middle of a sentence.
    """
    room = limit - len(separator) - 1
    if len(source) + len(target) <= room:
        return [*source, *separator, *target, end], len(source) + len(separator), True
    half = room // 2
    for_source = max(half, room - len(target))
    source = source[:for_source]
    target = [*target, end][: limit - len(source) - len(separator)]
    return [*source, *separator, *target], len(source) + len(separator), False


def padded(sequences: Sequences, rows: np.ndarray, *, whole: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens of these rows, padded on the right, and which of them are to be predicted.

    Both are (rows, longest). To be predicted are the target and its end, or with `whole` all tokens but the
    first. A causal model never looks to the right, so the padding needs no mask.
    """
    lengths = sequences.lengths[rows]
    longest = int(lengths.max(initial=1))
    places = np.arange(longest)
    inside = places < lengths[:, None]
    tokens = np.zeros((len(rows), longest), dtype=np.int64)
    tokens[inside] = np.concatenate(
        [sequences.tokens[sequences.starts[row] : sequences.starts[row + 1]] for row in rows]
    )
    # A target that starts the sequence has nothing before it to be predicted from.
    begins = np.ones(len(rows), np.int64) if whole else np.maximum(sequences.targets[rows], 1)
    return torch.from_numpy(tokens), torch.from_numpy(inside & (places >= begins[:, None]))
