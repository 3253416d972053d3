"""Ranking metrics at k, in percent: every metric for every k from one pass over the rows.

Formulas, conventions and edge rules are in docs/metrics.md. In short: the divisor of P@k is always k; a row
without truth counts as zero and stays in the mean; PSP and PSnDCG are ratios of sums over the whole dataset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import Judged, judge
from tailwright.evaluation.ranking import TopK


@dataclass(frozen=True, eq=False)
class RowSums:
    """What all rows add up to. `sums[q]` is a quantity of tailwright.kernels.metrics for every k."""

    sums: np.ndarray  # (quantities, ks)
    rows_with_truth: int
    places: np.ndarray  # (stored truth,) int32: rank of each true label in its row, -1 if not ranked


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """What each label's rows add up to."""

    predicted: np.ndarray  # (labels, ks) int64: rows that rank the label in their first k
    hits: np.ndarray  # (labels, ks) float64: truth found by them
    mass: np.ndarray  # (labels,) float64: truth there is

    def f1(self) -> np.ndarray:
        """(labels, ks) in percent; NaN for a label that neither the truth nor the rankings have."""
        total = self.predicted + self.mass[:, None]
        with np.errstate(invalid="ignore"):
            return np.asarray(200.0 * self.hits / total)

    def macro_f1(self, among: np.ndarray | slice) -> np.ndarray:
        """(ks,): the mean F1 of the labels `among` that occur in the truth or in the first k."""
        f1 = self.f1()[among]
        occurs = ~np.isnan(f1)
        return np.asarray(np.where(occurs, f1, 0.0).sum(axis=0) / np.maximum(occurs.sum(axis=0), 1))

    def coverage(self, among: np.ndarray | slice) -> np.ndarray:
        """(ks,): the share of the truth's labels `among` that at least one row gets right."""
        found = (self.hits[among] > 0).sum(axis=0)
        return np.asarray(100.0 * found / max(int((self.mass[among] > 0).sum()), 1))


def metrics_at_k(
    top_ids: np.ndarray | TopK,
    truth: sparse.sparray,
    inverse_propensity: np.ndarray | None,
    ks: Sequence[int] = (1, 3, 5),
    excluded: sparse.sparray | None = None,
) -> dict[str, float]:
    """P, nDCG, PSP, PSnDCG (both conventions), R, F1-macro and Coverage at each k, in percent.

    | argument | |
    |---|---|
    | `top_ids` | int (rows, width), best first; -1 is no prediction; or a `TopK` |
    | `truth` | CSR (rows, labels), values in [0, 1]; soft values are used as they are |
    | `inverse_propensity` | (labels,) from `tailwright.labels`; None leaves the PS metrics out |
    | `excluded` | CSR of pairs that are neither rewarded nor punished |

    Excluded pairs leave the truth, and each ranking before it is cut to k: give `top_ids` a width of at least
    the largest k plus the most exclusions of a row.

    >>> truth = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]]))
    >>> metrics_at_k(np.array([[0, 1], [2, 1]]), truth, None, ks=(1, 2))["P@1"]
    50.0
    """
    judged = judge(top_ids, truth, inverse_propensity, ks, excluded)
    rows = add_up_rows(judged, judged.truth.data)
    labels = count_labels(judged, rows.places)
    everything = slice(None)
    return by_key(
        judged.ks,
        row_metrics(judged, rows.sums, judged.rows)
        | {"F1-macro": labels.macro_f1(everything), "Coverage": labels.coverage(everything)},
    )


def f1_by_label(
    top_ids: np.ndarray | TopK,
    truth: sparse.sparray,
    ks: Sequence[int] = (1, 3, 5),
    excluded: sparse.sparray | None = None,
) -> np.ndarray:
    """The F1 of each label at each k (ascending), (labels, ks), in percent: what F1-macro is the mean of.

    NaN marks a label that is neither in the truth nor in a first k: F1-macro leaves it out. To average over
    another set of labels, or with other conventions for absent labels, start from here.
    """
    judged = judge(top_ids, truth, None, ks, excluded)
    return count_labels(judged, add_up_rows(judged, judged.truth.data).places).f1()


def add_up_rows(judged: Judged, values: np.ndarray) -> RowSums:
    """Sums over rows for the truth with other `values`: a zero takes a label out of truth and hits."""
    from tailwright.kernels.metrics import ROWS_A_BLOCK

    sums, rows_with_truth, places = add_up_blocks(judged, values, ROWS_A_BLOCK)
    return RowSums(sums.sum(axis=0), int(rows_with_truth.sum()), places)


def add_up_blocks(
    judged: Judged, values: np.ndarray, rows_a_block: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by blocks of rows: sums (blocks, quantities, ks), rows with truth (blocks,), places."""
    from tailwright.kernels.metrics import QUANTITIES, score_rankings

    blocks = -(-judged.rows // rows_a_block)
    sums = np.zeros((blocks, QUANTITIES, len(judged.ks)))
    rows_with_truth = np.zeros(blocks, dtype=np.int64)
    places = np.full(len(values), -1, dtype=np.int32)
    discounts = 1.0 / np.log2(np.arange(2, int(judged.ends[-1]) + 2, dtype=np.float64))
    weights = np.zeros(0) if judged.weights is None else judged.weights
    truth = judged.truth
    score_rankings(
        judged.cut,
        truth.indptr,
        truth.indices,
        values,
        weights,
        discounts,
        judged.ends,
        rows_a_block,
        sums,
        rows_with_truth,
        places,
    )
    return sums, rows_with_truth, places


def count_labels(judged: Judged, places: np.ndarray) -> LabelCounts:
    """Predictions, hits and truth of each label."""
    from tailwright.kernels.metrics import count_by_label

    shape = (judged.labels, len(judged.ks))
    counts = LabelCounts(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(judged.labels))
    truth = judged.truth
    count_by_label(
        judged.cut,
        truth.indices,
        truth.data,
        places,
        judged.ends,
        counts.predicted,
        counts.hits,
        counts.mass,
    )
    return counts


def row_metrics(judged: Judged, sums: np.ndarray, rows: int) -> dict[str, np.ndarray]:
    """The metrics that rows add up to, for every k; means are over `rows`."""
    from tailwright.kernels import metrics as kernel

    k = np.array(judged.ks, dtype=np.float64)
    found = {"P": 100.0 * sums[kernel.HITS] / (rows * k), "nDCG": 100.0 * sums[kernel.NDCG] / rows}
    if judged.weights is not None:
        found["PSP"] = ratio(sums[kernel.WEIGHTED_HITS], sums[kernel.WEIGHTED_BEST])
        found["PSnDCG"] = ratio(sums[kernel.WEIGHTED_DCG], sums[kernel.WEIGHTED_BEST_DCG])
        found["PSnDCG-xclib"] = ratio(sums[kernel.NORMED_DCG], sums[kernel.NORMED_BEST_DCG])
    found["R"] = 100.0 * sums[kernel.RECALL] / rows
    return found


def by_key(ks: Sequence[int], values: dict[str, np.ndarray]) -> dict[str, float]:
    """{"P@1": ..., "P@3": ...} out of one array of all k for each metric."""
    return {f"{name}@{k}": float(v) for name, row in values.items() for k, v in zip(ks, row, strict=True)}


def ratio(achieved: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Percent of the best there is; 0 where there is nothing to achieve."""
    return np.asarray(100.0 * np.divide(achieved, best, out=np.zeros_like(achieved), where=best > 0))
