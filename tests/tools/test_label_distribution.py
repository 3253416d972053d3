"""The label distribution before and after augmentation, from outcomes of known counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ranked_outcomes import exam, outcome

from tailwright.errors import InputError
from tools.label_distribution import counts_by_name, means


def outcomes():
    plain = outcome(exam(), 0.5)
    made = outcome(exam(), 0.5, augmentation="xda")
    counts = np.zeros(len(plain.counts), np.int64)
    counts[:3] = 100, 10, 2
    more = counts + np.where(np.arange(len(counts)) == 2, 1.0, 0.0)
    return [replace(plain, counts=counts), replace(made, counts=counts, augmented_counts=more)]


def test_made_rows_show_where_they_are_and_a_mask_leaves_head_labels_alone():
    found = means(counts_by_name(outcomes(), "toy", tail_below=20))
    assert found["original rows"] == [100, 10, 2]
    assert found["xda"] == [100, 10, 3]
    assert found["10 copies"] == [1100, 110, 22]
    assert found["10 copies, masked"] == [100, 110, 22]


def test_a_dataset_without_cells_is_named():
    with pytest.raises(InputError, match="no finished cell of 'other'"):
        counts_by_name(outcomes(), "other", tail_below=20)
