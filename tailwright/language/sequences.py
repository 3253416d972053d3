"""Pairs as sequences of tokens: source, separator, target, end; cut to fit, and padded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from tailwright.language.generator import Generator
from tailwright.language.pairs import TextPairs


@dataclass(frozen=True, eq=False)
class Sequences:
    """The sequences of all pairs, end to end.

    | field | holds |
    |---|---|
    | `tokens` | (all tokens,) int32 |
    | `starts` | (rows + 1,) where each sequence starts in `tokens` |
    | `targets` | (rows,) where in its sequence the target starts |
    | `cut` | how many sequences were longer than allowed |
    """

    tokens: np.ndarray
    starts: np.ndarray
    targets: np.ndarray
    cut: int

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
    """One sequence, where its target starts, and whether all of it is there.

    Where it is too long, each side has a right to half of the room. A target that is cut has no end: the
    model would learn to stop in the middle of a sentence.
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

    Both are (rows, longest). What is predicted is the target with its end, or with `whole` all but the first
    token. A causal model never looks to the right, so no mask is needed for what is padded.
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
