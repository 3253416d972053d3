"""The same metrics for a slice of the labels: head, torso, tail, unseen.

What is restricted, and why:

* Truth and hits are restricted to the slice's labels; the ranking is not. A user sees one list, so a tail
  label that head labels push below place k is missed, and the slice must show it.
* Rows without a label of the slice are left out of means over rows. There is nothing to find in them, and a
  slice's figures would mostly show how rare the slice is. `rows` says how many remain.
* F1-macro and Coverage are means over the slice's labels and use all rows: a tail label that is wrongly
  ranked in a row without tail labels is an error of that tail label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import judge
from tailwright.evaluation.metrics import add_up_rows, by_key, count_labels, ratio, row_metrics
from tailwright.evaluation.ranking import TopK
from tailwright.kernels.metrics import HITS, WEIGHTED_BEST, WEIGHTED_HITS


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
        metrics = {"P-part": 100.0 * rows.sums[HITS] / (judged.rows * k)}
        if judged.weights is not None:
            metrics["PSP-part"] = ratio(rows.sums[WEIGHTED_HITS], whole.sums[WEIGHTED_BEST])
        if rows.rows_with_truth:
            metrics |= row_metrics(judged, rows.sums, rows.rows_with_truth)
            metrics |= {"F1-macro": labels.macro_f1(mask), "Coverage": labels.coverage(mask)}
        sizes = {"rows": rows.rows_with_truth, "labels": int((labels.mass[mask] > 0).sum())}
        result[name] = sizes | by_key(judged.ks, metrics)
    return result


def checked_mask(name: str, mask: np.ndarray, labels: int) -> np.ndarray:
    """`mask` if it is a bool for each label; `name` is the slice's, for the error."""
    checked = np.asarray(mask)
    if checked.dtype != np.bool_ or checked.shape != (labels,):
        raise ValueError(f"slice {name!r} must be bool ({labels},), got {checked.dtype} {checked.shape}")
    return checked
