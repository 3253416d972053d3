"""Pairs of training texts with the same labels, from which a generator learns to write one for the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import sparse

from tailwright.augmentation.shared.sources import SourceSettings, drawn_rows, rows_to_augment
from tailwright.data.corpus import Corpus
from tailwright.data.text.similarity import similar_pairs
from tailwright.kernels.draws import draw_partners
from tailwright.settings import Settings, setting
from tailwright.streams import stream_key


@dataclass(frozen=True)
class PairSettings(Settings):
    """Which pairs of rows teach a generator, and for which half of the rows it writes.

    A row is fit if it is an original one, has `min_words` to `max_words` words and none of the omitted
    labels. `rows` and `tail_below` choose sources among the fit rows and do not matter for pairs: few rows
    have exactly the same labels, fewer still the same rare ones, and how to say a thing in another way can be
    learnt from all. A row without labels makes no pair. The half that can be sources is the one that
    `rows=0.5` draws for every method.
    """

    sources: Literal["half", "all"] = setting(
        "half", "half: half of the fit rows, by the seed, make pairs, the others are sources; all: both"
    )
    targets_per_source: int = setting(
        1, "rows with exactly the same labels that each row of the pairs draws", least=1
    )
    pairs_per_set: int = setting(100, "most pairs of one set of labels, drawn by the seed", least=1)
    max_ratio: float = setting(
        0.95, "pairs whose words match in a higher ratio are dropped, as they teach copying", above=0, most=1
    )
    max_pairs: int | None = setting(None, "most pairs, drawn by the seed; none: no limit", least=1)
    min_pairs: int = setting(8, "with fewer pairs nothing is learnt, and no row is added", least=1)


@dataclass(frozen=True, eq=False)
class PairsAndSources:
    """Places in `corpus.train`, in the order of their row numbers."""

    fit: int  # rows that could make pairs or be sources
    firsts: np.ndarray  # (pairs,) int64: what is read
    seconds: np.ndarray  # (pairs,) int64: what is written
    sources: np.ndarray  # (sources,) int64
    too_similar: int  # pairs that were dropped


def pairs_and_sources(
    corpus: Corpus, selection: SourceSettings, settings: PairSettings, *, seed: int = 0, workers: int = 1
) -> PairsAndSources:
    """The pairs to learn from and the sources to write for; the same for any order of the rows."""
    fit = rows_to_augment(corpus, replace(selection, rows="all"), seed=seed, workers=workers)
    sources = rows_to_augment(corpus, selection, seed=seed, workers=workers)
    makers = fit
    if settings.sources == "half":
        half = rows_to_augment(corpus, replace(selection, rows=0.5), seed=seed, workers=workers)
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
        drawn_rows(sources, numbers, selection.max_rows, seed),
        int(similar.sum()),
    )


def _drawn(
    corpus: Corpus, makers: np.ndarray, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(place of the first row, of the second, random order, number of the label set), each (pairs,)."""
    train = corpus.train
    # By row number, so that draws do not depend on the order of the rows.
    makers = makers[np.argsort(train.origin.rows[makers], kind="stable")]
    groups = same_labels(train.targets, makers)
    ends = np.cumsum([0, *map(len, groups)])
    rows = np.concatenate([np.zeros(0, np.int64), *groups])
    drawers, drawn, order = draw_partners(
        stream_key(seed, "text-pairs"), train.origin.rows[rows], ends, count
    )
    return rows[drawers], rows[drawn], order, np.searchsorted(ends, drawers, side="right")


def same_labels(targets: sparse.csr_array, rows: np.ndarray) -> list[np.ndarray]:
    """`rows` by their exact set of labels, whatever the targets' values; sets with one row are left out."""
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
