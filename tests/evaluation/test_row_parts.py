"""Row parts add up to the metrics, whatever the case: soft truth, excluded pairs, slices, empty rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_cases import Case, cases
from scipy import sparse

from tailwright.evaluation import metrics_at_k, sliced_metrics
from tailwright.evaluation.row_parts import MEANS, WEIGHTED, RowParts, row_parts


def names(ks: tuple[int, ...]) -> list[str]:
    return [f"{name}@{k}" for name in MEANS + WEIGHTED for k in ks]


@given(cases())
def test_the_ratio_of_the_sums_is_the_metric(case: Case) -> None:
    weights = np.array(case.weights)
    parts = row_parts(case.top_ids, case.truth_csr, weights, names(case.ks), case.excluded_csr)
    whole = metrics_at_k(case.top_ids, case.truth_csr, weights, case.ks, case.excluded_csr)
    assert parts.values() == pytest.approx({name: whole[name] for name in parts.metrics}, abs=1e-9)
    assert parts.achieved.shape == parts.possible.shape == (len(case.truth), len(parts.metrics))
    assert np.all(parts.achieved <= parts.possible + 1e-9)


@given(cases(), st.data())
def test_the_ratio_of_the_sums_in_a_slice_is_the_metric_of_the_slice(case: Case, data: st.DataObject) -> None:
    labels = len(case.weights)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=labels, max_size=labels)), dtype=bool)
    weights = np.array(case.weights)
    parts = row_parts(case.top_ids, case.truth_csr, weights, names(case.ks), case.excluded_csr, mask)
    sliced = sliced_metrics(
        case.top_ids, case.truth_csr, weights, {"part": mask}, case.ks, case.excluded_csr
    )["part"]
    assert np.all((parts.possible > 0).sum(axis=0) == sliced["rows"])
    expected = {name: sliced.get(name, 0.0) for name in parts.metrics}
    assert parts.values() == pytest.approx(expected, abs=1e-9)


def test_a_row_without_truth_counts_overall_and_not_in_a_slice() -> None:
    truth = sparse.csr_array(np.array([[1, 0], [0, 0]]))
    top = np.array([[0], [0]])
    assert row_parts(top, truth, None, ["P@1"]).values() == {"P@1": 50.0}
    assert row_parts(top, truth, None, ["P@1"], mask=np.array([True, True])).values() == {"P@1": 100.0}


def test_metrics_come_in_the_order_asked_for_and_a_k_may_be_asked_twice() -> None:
    truth = sparse.csr_array(np.array([[1, 1, 0]]))
    parts = row_parts(np.array([[0, 2, 1]]), truth, None, ["R@3", "P@1", "P@3", "R@1"])
    assert list(parts.values().items()) == [
        ("R@3", 100.0),
        ("P@1", 100.0),
        ("P@3", pytest.approx(200 / 3)),
        ("R@1", 50.0),
    ]


@pytest.mark.parametrize("metric", ["F1-macro@5", "Coverage@1", "P", "P@", "P@x", "P@-1", "psp@5"])
def test_what_is_no_sum_over_rows_is_refused(metric: str) -> None:
    with pytest.raises(ValueError, match="is not a sum over rows"):
        row_parts(np.array([[0]]), sparse.csr_array(np.array([[1]])), None, [metric])


def test_a_weighted_metric_without_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="PSP@5 needs inverse_propensity"):
        row_parts(np.array([[0]]), sparse.csr_array(np.array([[1]])), None, ["PSP@5"])


def test_parts_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"possible has shape \(2, 1\), expected \(rows, 1\)"):
        RowParts(("P@1",), np.zeros((3, 1)), np.zeros((2, 1)))
