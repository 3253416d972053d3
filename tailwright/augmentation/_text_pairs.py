"""Pairs of training texts with the same labels, which a generator learns to make one of the other from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import sparse

from tailwright.augmentation._rows_to_augment import SourceSettings, rows_to_augment
from tailwright.data.corpus import Corpus
from tailwright.data.text.similarity import similar_pairs
from tailwright.kernels.partners import draw_partners, random_keys
from tailwright.streams import stream_key


@dataclass(frozen=True)
class PairSettings(SourceSettings):
    """Which rows are sources of new texts, and which pairs of rows teach how to write them.

    | setting | meaning |
    |---|---|
    | `sources` | `half`: half of the fit rows, by the seed, make pairs, the others are sources; `all`: both |
    | `max_rows` | so many sources at most, drawn by the seed; none: no limit |
    | `targets_per_source` | each row that makes pairs draws so many others that have exactly its labels |
    | `pairs_per_set` | so many pairs of one set of labels at most, drawn by the seed |
    | `max_ratio` | pairs whose words match in more than this share are dropped (`SequenceMatcher.ratio`) |
    | `max_pairs` | so many pairs at most, drawn by the seed; none: no limit |
    | `min_pairs` | with fewer pairs than this nothing is learnt from them, and no row is added |

    A row is fit if it is an original one, has `min_words` to `max_words` words and none of the omitted
    labels. `rows` and `tail_below` choose sources among fit rows, and do not matter for pairs: few rows have
    exactly the same labels, fewer still the same rare ones, and how to say a thing in another way can be
    learnt from all. A row without labels makes no pair. The half that can be sources is the one that
    `rows=0.5` draws for every method.
    """

    sources: Literal["half", "all"] = "half"
    max_rows: int | None = None
    targets_per_source: int = 1
    pairs_per_set: int = 100
    max_ratio: float = 0.95
    max_pairs: int | None = None
    min_pairs: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sources not in ("half", "all"):
            raise ValueError(f"sources must be half or all, got {self.sources!r}")
        for name in ("max_rows", "targets_per_source", "pairs_per_set", "max_pairs", "min_pairs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be >= 1, got {value}")
        if not 0 < self.max_ratio <= 1:
            raise ValueError(f"max_ratio must be in (0, 1], got {self.max_ratio}")


@dataclass(frozen=True, eq=False)
class PairsAndSources:
    """Places in `corpus.train`, in the order of their row numbers, and what was left out."""

    fit: int  # rows that could make pairs or be sources
    firsts: np.ndarray  # (pairs,) int64: what is read
    seconds: np.ndarray  # (pairs,) int64: what is written
    sources: np.ndarray  # (sources,) int64
    too_similar: int  # pairs


def pairs_and_sources(
    corpus: Corpus, settings: PairSettings, *, seed: int = 0, workers: int = 1
) -> PairsAndSources:
    """The pairs to learn from and the sources to write from; the same for any order of the rows."""
    fit = rows_to_augment(corpus, replace(settings, rows="all"), seed=seed, workers=workers)
    sources = rows_to_augment(corpus, settings, seed=seed, workers=workers)
    makers = fit
    if settings.sources == "half":
        half = rows_to_augment(corpus, replace(settings, rows=0.5), seed=seed, workers=workers)
        sources = np.intersect1d(sources, half, assume_unique=True)
        makers = np.setdiff1d(fit, half, assume_unique=True)
    numbers = corpus.train.origin.rows
    firsts, seconds, order, group = _drawn(corpus, makers, settings.targets_per_source, seed)
    similar = similar_pairs(corpus.train.texts, firsts, seconds, settings.max_ratio, workers=workers)
    kept = np.flatnonzero(~similar)
    kept = kept[_rank_within(group[kept], order[kept]) < settings.pairs_per_set]
    kept = kept[np.argsort(order[kept], kind="stable")[: settings.max_pairs]]
    kept = kept[np.lexsort((numbers[seconds[kept]], numbers[firsts[kept]]))]
    return PairsAndSources(
        len(fit),
        firsts[kept],
        seconds[kept],
        _some(sources, numbers, settings.max_rows, seed),
        int(similar.sum()),
    )


def _drawn(
    corpus: Corpus, makers: np.ndarray, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(who reads, who is read, random order, number of the label set), each (pairs,)."""
    train = corpus.train
    # By row number, so that who is drawn does not depend on the order of the rows.
    makers = makers[np.argsort(train.origin.rows[makers], kind="stable")]
    groups = same_labels(train.targets, makers)
    ends = np.cumsum([0, *map(len, groups)])
    rows = np.concatenate([np.zeros(0, np.int64), *groups])
    drawers, drawn, order = draw_partners(
        stream_key(seed, "text-pairs"), train.origin.rows[rows], ends, count
    )
    return rows[drawers], rows[drawn], order, np.searchsorted(ends, drawers, side="right")


def same_labels(targets: sparse.csr_array, rows: np.ndarray) -> list[np.ndarray]:
    """Those of `rows` that have exactly the same labels, whatever their values: groups of two or more."""
    groups: dict[bytes, list[int]] = {}
    for row in rows.tolist():
        labels = targets.indices[targets.indptr[row] : targets.indptr[row + 1]]  # ascending
        if len(labels):
            groups.setdefault(labels.tobytes(), []).append(row)
    return [np.array(group, dtype=np.int64) for group in groups.values() if len(group) > 1]


def _rank_within(group: np.ndarray, order: np.ndarray) -> np.ndarray:
    """(pairs,): how many of the same group come before each in `order`."""
    by_group = np.lexsort((order, group))
    _, starts, counts = np.unique(group[by_group], return_index=True, return_counts=True)
    rank = np.empty(len(group), dtype=np.int64)
    rank[by_group] = np.arange(len(group)) - np.repeat(starts, counts)
    return rank


def _some(rows: np.ndarray, numbers: np.ndarray, most: int | None, seed: int) -> np.ndarray:
    """`most` of these rows, drawn by the seed, in the order of their numbers.

    A smaller draw lies in a larger one. Where a number stands twice, the row is a source once.
    """
    rows = rows[np.unique(numbers[rows], return_index=True)[1]]
    if most is None or len(rows) <= most:
        return rows
    drawn = random_keys(stream_key(seed, "sources"), numbers[rows])
    return rows[np.sort(np.argsort(drawn, kind="stable")[:most])]
