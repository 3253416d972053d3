"""Two rankings of the same rows: which rows and which labels show the difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import judge
from tailwright.evaluation.metrics import add_up_rows, count_labels
from tailwright.evaluation.ranking import TopK
from tailwright.evaluation.row_parts import row_parts
from tailwright.streams import stream


@dataclass(frozen=True, eq=False)
class TellingRows:
    """Rows that show a difference, drawn in proportion from the `better` and `worse` ones."""

    rows: np.ndarray  # (shown,) int64, the better ones first
    gained: np.ndarray  # (shown,) float64: how many more (or fewer) right labels than before
    better: int
    worse: int


def telling_rows(
    before: np.ndarray | TopK,
    after: np.ndarray | TopK,
    truth: sparse.sparray,
    mask: np.ndarray,
    k: int,
    *,
    count: int = 5,
    seed: int = 0,
    excluded: sparse.sparray | None = None,
) -> TellingRows:
    """Random rows whose number of right labels of `mask` among the first k differs.

    Better and worse rows are shown in proportion, at least one of each if there are any: the best cases alone
    would mislead.
    """
    was, now = (
        row_parts(top, truth, None, [f"P@{k}"], excluded, mask).achieved[:, 0] for top in (before, after)
    )
    gained = k * (now - was)
    better, worse = np.flatnonzero(gained > 0), np.flatnonzero(gained < 0)
    sides = zip((better, worse), shares(len(better), len(worse), count), strict=True)
    draw = stream(seed, "telling-rows")
    rows = np.concatenate([np.sort(draw.choice(side, shown, replace=False)) for side, shown in sides])
    return TellingRows(rows, gained[rows], len(better), len(worse))


def shares(one: int, other: int, count: int) -> tuple[int, int]:
    """`count` places for two sets in proportion to their sizes; a set that is not empty gets a place.

    >>> shares(70, 30, 5), shares(999, 1, 5), shares(2, 0, 5), shares(0, 0, 5)
    ((4, 1), (4, 1), (2, 0), (0, 0))
    """
    count = min(count, one + other)
    if count == 0:
        return 0, 0
    first = round(count * one / (one + other))
    if count > 1 and one and other:
        first = min(max(first, 1), count - 1)
    first = max(min(first, one), count - other)
    return first, count - first


@dataclass(frozen=True, eq=False)
class LabelHits:
    """How often two rankings found each label, and how often they could have."""

    before: np.ndarray  # (labels,) float64: truth found among the first k
    after: np.ndarray  # (labels,) float64
    there: np.ndarray  # (labels,) float64: all its truth

    def most_changed(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(labels that gained most, labels that lost most), at most `count` each, the largest change first.

        Of equal changes, that of the label with less truth comes first.
        """
        change = self.after - self.before
        order = np.lexsort((np.arange(len(change)), self.there, -np.abs(change)))
        return order[change[order] > 0][:count], order[change[order] < 0][:count]


def label_hits(
    before: np.ndarray | TopK,
    after: np.ndarray | TopK,
    truth: sparse.sparray,
    k: int,
    excluded: sparse.sparray | None = None,
) -> LabelHits:
    """The hits of each label among the first k, in both rankings.

    >>> truth = sparse.csr_array(np.array([[1, 0], [1, 1]]))
    >>> hits = label_hits(np.array([[1], [1]]), np.array([[0], [0]]), truth, k=1)
    >>> hits.before.tolist(), hits.after.tolist(), hits.there.tolist()
    ([0.0, 1.0], [2.0, 0.0], [2.0, 1.0])
    """
    counts = []
    for top in (before, after):
        judged = judge(top, truth, None, (k,), excluded)
        counts.append(count_labels(judged, add_up_rows(judged, judged.truth.data).places))
    return LabelHits(counts[0].hits[:, 0], counts[1].hits[:, 0], counts[0].mass)
