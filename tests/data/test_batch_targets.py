"""The targets of a batch: gathered from a dataset, cut to some labels, lifted to groups of labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import datasets

from tailwright.data.batch_targets import BatchTargets, TargetRows, of_groups
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists


def rows_of(labels, values, ignored=None):
    """The targets of rows over five labels."""
    pairs = pairs_from_lists(labels, 5, values)
    data = Dataset(arrow_strings(["x"] * len(labels)), pairs)
    if ignored is not None:
        data = replace(data, ignored=pairs_from_lists(ignored, 5))
    return BatchTargets.of(data)


def dense(targets: BatchTargets, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """(targets, ignored), both (rows, labels)."""
    values = np.zeros((len(targets), labels), dtype=np.float32)
    values[targets.rows, targets.labels] = targets.values
    ignored = np.zeros((len(targets), labels), dtype=bool)
    ignored[targets.ignored_rows, targets.ignored] = True
    return values, ignored


def cells(targets: BatchTargets) -> dict[tuple[int, int], float]:
    pairs = zip(targets.rows.tolist(), targets.labels.tolist(), strict=True)
    return dict(zip(pairs, targets.values.tolist(), strict=True))


@given(datasets(min_rows=1), st.data())
def test_rows_are_gathered_with_every_column(data, draw):
    rows = np.array(draw.draw(st.permutations(range(len(data)))))[: max(1, len(data) // 2)]
    targets = TargetRows(data)(rows)
    values, ignored = dense(targets, data.labels)
    np.testing.assert_array_equal(values, data.targets.toarray()[rows])
    np.testing.assert_array_equal(ignored, data.ignored.toarray()[rows] > 0)
    np.testing.assert_array_equal(targets.weights, data.weights[rows])
    np.testing.assert_array_equal(TargetRows(data).counts(), (data.targets.toarray() > 0).sum(0))


@given(datasets(min_rows=1), st.data())
def test_among_some_labels_the_others_leave(data, draw):
    labels = np.array(sorted(draw.draw(st.sets(st.integers(0, data.labels - 1)))), dtype=np.int32)
    targets = BatchTargets.of(data).among(labels)
    values, ignored = dense(targets, len(labels))
    np.testing.assert_array_equal(values, data.targets.toarray()[:, labels])
    np.testing.assert_array_equal(ignored, data.ignored.toarray()[:, labels] > 0)
    np.testing.assert_array_equal(targets.weights, data.weights)


@given(datasets(min_rows=1))
def test_an_ignored_positive_is_not_learnt(data):
    values, _ = dense(BatchTargets.of(data).learnt(), data.labels)
    np.testing.assert_array_equal(values, data.learnt_targets().toarray())


@given(datasets(min_rows=1), st.data())
def test_groups_follow_the_rule_written_out(data, draw):
    groups = 3
    group_of = np.array(
        draw.draw(st.lists(st.integers(-1, groups - 1), min_size=data.labels, max_size=data.labels)),
        dtype=np.int32,
    )
    values, ignored = dense(BatchTargets.of(data).of_groups(group_of, groups), groups)
    learnt, barred = data.learnt_targets().toarray(), data.ignored.toarray() > 0
    for group in range(groups):
        members = group_of == group
        largest = learnt[:, members].max(axis=1, initial=0)
        np.testing.assert_array_equal(values[:, group], largest)
        np.testing.assert_array_equal(ignored[:, group], barred[:, members].any(axis=1) & (largest == 0))


def test_the_target_of_a_group_is_the_largest_of_its_labels():
    group_of = np.array([0, 0, 1, 2, -1], dtype=np.int32)
    targets = rows_of([[0, 1], [2, 3]], [[0.25, 0.75], [1.0, 0.5]]).of_groups(group_of, 3)
    assert cells(targets) == {(0, 0): 0.75, (1, 1): 1.0, (1, 2): 0.5}
    assert not len(targets.ignored)


def test_a_group_whose_only_reason_is_ignored_gives_no_loss():
    group_of = np.array([0, 0, 1, 2, -1], dtype=np.int32)
    # Label 0 is ignored but 1 keeps its group; 2 stood for group 1 alone; 3 would have been a negative.
    targets = rows_of([[0, 1, 2, 4]], [[1.0, 0.5, 1.0, 1.0]], [[0, 2, 3]]).of_groups(group_of, 3)
    assert cells(targets) == {(0, 0): 0.5}
    assert targets.ignored.tolist() == [1, 2]


def test_a_dataset_over_groups_excludes_groups_without_a_target():
    data = Dataset(
        arrow_strings(["x"]),
        pairs_from_lists([[0]], 4),
        ignored=pairs_from_lists([[1]], 4),
        excluded=pairs_from_lists([[0, 3]], 4),
    )
    grouped = of_groups(data, np.array([0, 0, 1, 1], dtype=np.int32), 2)
    assert grouped.targets.toarray().tolist() == [[1, 0]]
    assert grouped.ignored.toarray().tolist() == [[0, 0]]
    assert grouped.excluded.toarray().tolist() == [[0, 1]]
    assert grouped.texts.to_pylist() == ["x"]


def test_arrays_that_do_not_fit_are_refused():
    good = rows_of([[0], [1]], [[1.0], [0.5]])
    with pytest.raises(ValueError, match="labels must be CSR of 2 rows"):
        replace(good, starts=np.array([0, 2]))
    with pytest.raises(ValueError, match="values must be as many as labels, 2, got 1"):
        replace(good, values=np.ones(1, np.float32))


def weighed(labels: list[float]) -> BatchTargets:
    """An original row, a made one of weight 2, and a mix of both, over as many labels."""
    none, starts = np.zeros(0, dtype=np.int32), np.zeros(4, dtype=np.int64)
    return BatchTargets(
        starts,
        none,
        np.zeros(0, dtype=np.float32),
        starts,
        none,
        np.array([1, 2, 1], dtype=np.float32),
        np.array(labels, dtype=np.float32),
        np.array([0, 1, 0.5], dtype=np.float32),
    )


def test_the_weight_of_a_pair_is_that_of_its_row_and_in_made_rows_of_its_label():
    targets = weighed([0.5, 3])
    rows, labels = np.array([0, 1, 1, 2]), np.array([1, 0, 1, 1])
    assert targets.pair_weights(rows, labels).tolist() == [1, 1, 6, 2]


def test_among_some_labels_label_weights_are_theirs():
    assert weighed([1, 2, 3]).among(np.array([0, 2])).label_weights.tolist() == [1, 3]


def test_a_group_has_the_mean_of_its_labels_weights():
    groups = weighed([1, 2, 3, 8]).of_groups(np.array([1, 0, 1, -1], dtype=np.int32), 3)
    assert groups.label_weights.tolist() == [2, 2, 1]
    assert groups.made.tolist() == [0, 1, 0.5]


def test_rows_are_gathered_with_label_weights_if_some_are_made():
    data = Dataset(arrow_strings(["x", "y"]), pairs_from_lists([[0], [1]], 2), label_weights=[2, 3])
    assert BatchTargets.of(data).label_weights is None
    made = replace(data, origin=Origin(np.arange(2), np.array([0, 1]), ("", "eda")), label_weights=[2, 3])
    targets = TargetRows(made)(np.array([1, 0]))
    assert targets.label_weights.tolist() == [2, 3]
    assert targets.made.tolist() == [1, 0]
    assert of_groups(made, np.zeros(2, dtype=np.int32), 1).label_weights.tolist() == [2.5]


def test_label_weights_need_to_know_which_rows_are_made():
    with pytest.raises(ValueError, match="must be given together"):
        replace(weighed([1]), made=None)
    with pytest.raises(ValueError, match="made must be of 3 rows"):
        replace(weighed([1]), made=np.ones(2, dtype=np.float32))
