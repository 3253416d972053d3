"""sliced_metrics: equality with the literal twin, parts that add up, empty slices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal_metrics import literal_slice
from metric_cases import Case, cases
from scipy import sparse

from tailwright.evaluation import metrics_at_k, sliced_metrics
from tailwright.labels import head_torso_tail


@given(cases(), st.data())
def test_every_slice_equals_its_literal_twin(case: Case, data: st.DataObject) -> None:
    labels = len(case.weights)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=labels, max_size=labels)), dtype=bool)
    found = sliced_metrics(
        case.top_ids,
        case.truth_csr,
        np.array(case.weights),
        {"in": mask, "out": ~mask},
        case.ks,
        case.excluded_csr,
    )
    for name, chosen in (("in", mask), ("out", ~mask)):
        expected = literal_slice(
            case.rankings, case.truth, case.weights, case.ks, case.excluded, np.flatnonzero(chosen).tolist()
        )
        assert found[name] == pytest.approx(expected, abs=1e-9)


@given(cases(), st.data())
def test_parts_of_a_partition_add_up_to_the_whole(case: Case, data: st.DataObject) -> None:
    labels = len(case.weights)
    counts = np.array(data.draw(st.lists(st.sampled_from([0, 1, 6, 51]), min_size=labels, max_size=labels)))
    arguments = (case.top_ids, case.truth_csr, np.array(case.weights))
    whole = metrics_at_k(*arguments, case.ks, case.excluded_csr)
    slices = sliced_metrics(*arguments, head_torso_tail(counts), case.ks, case.excluded_csr)
    for k in case.ks:
        for name in ("P", "PSP"):
            total = sum(part[f"{name}-part@{k}"] for part in slices.values())
            assert total == pytest.approx(whole[f"{name}@{k}"], abs=1e-9)


def test_the_ranking_stays_whole_so_head_labels_push_tail_labels_out() -> None:
    truth = sparse.csr_array(np.array([[1, 1]]))
    found = sliced_metrics(np.array([[0, 1]]), truth, None, {"tail": np.array([False, True])}, ks=(1, 2))
    assert (found["tail"]["R@1"], found["tail"]["R@2"]) == (0, 100)


def test_rows_without_a_label_of_the_slice_leave_its_means_but_not_its_f1() -> None:
    truth = sparse.csr_array(np.array([[1, 0], [0, 1]]))
    found = sliced_metrics(np.array([[0], [0]]), truth, None, {"first": np.array([True, False])}, ks=(1,))
    assert found["first"]["rows"] == 1
    assert found["first"]["P@1"] == 100
    assert found["first"]["P-part@1"] == 50
    assert found["first"]["F1-macro@1"] == pytest.approx(200 / 3)


def test_a_slice_of_all_labels_is_the_whole_where_every_row_has_truth() -> None:
    truth = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]]))
    ids, weights = np.array([[0, 1], [2, 1]]), np.array([1.0, 2, 3])
    found = sliced_metrics(ids, truth, weights, {"all": np.ones(3, dtype=bool)})["all"]
    assert found.items() >= metrics_at_k(ids, truth, weights).items()


def test_an_empty_slice_has_sizes_and_parts_and_no_means() -> None:
    truth = sparse.csr_array(np.array([[1, 0]]))
    found = sliced_metrics(np.array([[0]]), truth, np.ones(2), {"unseen": np.array([False, True])}, ks=(1,))
    assert found == {"unseen": {"rows": 0, "labels": 0, "P-part@1": 0.0, "PSP-part@1": 0.0}}


@pytest.mark.parametrize("mask", [np.array([0, 1]), np.array([True])])
def test_a_mask_of_the_wrong_type_or_length_is_refused(mask: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"slice 'tail' must be bool \(2,\)"):
        sliced_metrics(np.array([[0]]), sparse.csr_array(np.array([[1, 0]])), None, {"tail": mask})
