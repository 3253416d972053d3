"""Ranking metrics at k, in percent, over all labels or by slice: one pass over the rows for every k.

Formulas, conventions and edge rules are in docs/metrics.md. In short: the divisor of P@k is always k; a row
without truth counts as zero and stays in the mean; PSP and PSnDCG are ratios of sums over the whole dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import Judged, judge
from tailwright.evaluation.ranking import TopK
from tailwright.kernels import metrics as kernel

# Metrics with propensities: the quantities (achieved, best possible) whose ratio they are.
RATIOS = {
    "PSP": (kernel.WEIGHTED_HITS, kernel.WEIGHTED_BEST),
    "PSnDCG": (kernel.WEIGHTED_DCG, kernel.WEIGHTED_BEST_DCG),
    "PSnDCG-xclib": (kernel.NORMED_DCG, kernel.NORMED_BEST_DCG),
}


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over all rows. `sums[q]` is a quantity of `kernels/metrics.py` for every k."""

    sums: np.ndarray  # (quantities, ks)
    rows_with_truth: int
    places: np.ndarray  # (stored truth,) int32: rank of each true label in its row, -1 if not ranked


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Sums over the rows of each label."""

    predicted: np.ndarray  # (labels, ks) int64: rows that rank the label in their first k
    hits: np.ndarray  # (labels, ks) float64: truth found by them
    mass: np.ndarray  # (labels,) float64: all its truth

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
        covered = (self.hits[among] > 0).sum(axis=0)
        return np.asarray(100.0 * covered / max(int((self.mass[among] > 0).sum()), 1))


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
    | `truth` | CSR (rows, labels), values in [0, 1]; soft values are not rounded |
    | `inverse_propensity` | (labels,) from `tailwright.labels`; None leaves out the PS metrics |
    | `excluded` | CSR of pairs that are neither rewarded nor punished |

    Excluded pairs are removed from the truth, and from each ranking before it is cut to k: `top_ids` should
    be as wide as the largest k plus the most exclusions of a row.

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


def sliced_metrics(
    top_ids: np.ndarray | TopK,
    truth: sparse.sparray,
    inverse_propensity: np.ndarray | None,
    slices: Mapping[str, np.ndarray],
    ks: Sequence[int] = (1, 3, 5),
    excluded: sparse.sparray | None = None,
) -> dict[str, dict[str, float]]:
    """`metrics_at_k` for each slice; `slices` maps a name to a bool mask over labels (`head_torso_tail`).

    Besides the metrics, each slice has `rows` (rows with a true label of the slice), `labels` (labels of the
    slice that occur in the truth), and how many points of the overall P@k and PSP@k its hits contribute:
    `P-part@k` and `PSP-part@k`, which add up to the overall figures if every label is in exactly one slice.
    A slice without rows has no means: its metrics are left out, and its contributions are 0.

    * Truth and hits are restricted to the slice's labels; the ranking is not. A user sees one list, so a tail
      label that head labels push below place k is missed, and the slice must show it.
    * Rows without a label of the slice are left out of means over rows. There is nothing to find in them, and
      a slice's figures would mostly show how rare the slice is.
    * F1-macro and Coverage are means over the slice's labels and use all rows: a tail label that is wrongly
      ranked in a row without tail labels is an error of that tail label.
    """
    judged = judge(top_ids, truth, inverse_propensity, ks, excluded)
    masks = {name: checked_mask(name, mask, judged.labels) for name, mask in slices.items()}
    whole = add_up_rows(judged, judged.truth.data)
    labels = count_labels(judged, whole.places)
    k = np.array(judged.ks, dtype=np.float64)
    result: dict[str, dict[str, float]] = {}
    for name, mask in masks.items():
        values = np.where(mask[judged.truth.indices], judged.truth.data, 0.0)
        rows = add_up_rows(judged, values)
        metrics = {"P-part": 100.0 * rows.sums[kernel.HITS] / (judged.rows * k)}
        if judged.weights is not None:
            metrics["PSP-part"] = ratio(rows.sums[kernel.WEIGHTED_HITS], whole.sums[kernel.WEIGHTED_BEST])
        if rows.rows_with_truth:
            metrics |= row_metrics(judged, rows.sums, rows.rows_with_truth)
            metrics |= {"F1-macro": labels.macro_f1(mask), "Coverage": labels.coverage(mask)}
        sizes = {"rows": rows.rows_with_truth, "labels": int((labels.mass[mask] > 0).sum())}
        result[name] = sizes | by_key(judged.ks, metrics)
    return result


def f1_by_label(
    top_ids: np.ndarray | TopK,
    truth: sparse.sparray,
    ks: Sequence[int] = (1, 3, 5),
    excluded: sparse.sparray | None = None,
) -> np.ndarray:
    """The F1 of each label at each k (ascending), (labels, ks), in percent; F1-macro is their mean.

    NaN marks a label that is neither in the truth nor in a first k; F1-macro leaves it out. Use this to
    average over other labels, or with other conventions for absent labels.
    """
    judged = judge(top_ids, truth, None, ks, excluded)
    return count_labels(judged, add_up_rows(judged, judged.truth.data).places).f1()


def add_up_rows(judged: Judged, values: np.ndarray) -> RowSums:
    """Sums over rows for the truth with these `values`: a zero removes a label from truth and hits."""
    sums, rows_with_truth, places = add_up_blocks(judged, values, kernel.ROWS_PER_BLOCK)
    return RowSums(sums.sum(axis=0), int(rows_with_truth.sum()), places)


def add_up_blocks(
    judged: Judged, values: np.ndarray, rows_per_block: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by blocks of rows: sums (blocks, quantities, ks), rows with truth (blocks,), places."""
    blocks = -(-judged.rows // rows_per_block)
    sums = np.zeros((blocks, kernel.QUANTITIES, len(judged.ks)))
    rows_with_truth = np.zeros(blocks, dtype=np.int64)
    places = np.full(len(values), -1, dtype=np.int32)
    discounts = 1.0 / np.log2(np.arange(2, int(judged.ends[-1]) + 2, dtype=np.float64))
    weights = np.zeros(0) if judged.weights is None else judged.weights
    truth = judged.truth.indptr, judged.truth.indices, values
    results = sums, rows_with_truth, places
    kernel.score_rankings(judged.cut, *truth, weights, discounts, judged.ends, rows_per_block, *results)
    return results


def count_labels(judged: Judged, places: np.ndarray) -> LabelCounts:
    """Predictions, hits and truth of each label."""
    shape = (judged.labels, len(judged.ks))
    counts = LabelCounts(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(judged.labels))
    truth = judged.truth
    kernel.count_by_label(
        judged.cut, truth.indices, truth.data, places, judged.ends, counts.predicted, counts.hits, counts.mass
    )
    return counts


def row_metrics(judged: Judged, sums: np.ndarray, rows: int) -> dict[str, np.ndarray]:
    """The metrics that are sums over rows, for every k; means are over `rows`."""
    k = np.array(judged.ks, dtype=np.float64)
    metrics = {"P": 100.0 * sums[kernel.HITS] / (rows * k), "nDCG": 100.0 * sums[kernel.NDCG] / rows}
    if judged.weights is not None:
        metrics |= {name: ratio(sums[achieved], sums[best]) for name, (achieved, best) in RATIOS.items()}
    metrics["R"] = 100.0 * sums[kernel.RECALL] / rows
    return metrics


def by_key(ks: Sequence[int], values: dict[str, np.ndarray]) -> dict[str, float]:
    """{"P@1": ..., "P@3": ...} from an array over all k for each metric."""
    return {f"{name}@{k}": float(v) for name, row in values.items() for k, v in zip(ks, row, strict=True)}


def ratio(achieved: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Percent of the best possible; 0 where nothing is possible."""
    return np.asarray(100.0 * np.divide(achieved, best, out=np.zeros_like(achieved), where=best > 0))


def checked_mask(name: str, mask: np.ndarray, labels: int) -> np.ndarray:
    """`mask` if it is a bool for each label; `name` is the slice's, for the error."""
    checked = np.asarray(mask)
    if checked.dtype != np.bool_ or checked.shape != (labels,):
        raise ValueError(f"slice {name!r} must be bool ({labels},), got {checked.dtype} {checked.shape}")
    return checked
