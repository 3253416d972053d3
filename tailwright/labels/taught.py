"""Which rows say what a label is: those that it is described by when labels are put into groups."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids


def taught_pairs(train: Dataset) -> sparse.csr_array:
    """(rows, labels): which rows a label is described by, by its target there and the weight of the row.

    Its original rows, or those that an augmentation made where it has no other.
    """
    pairs = train.weighted_targets()
    original = train.origin.is_original()[row_ids(pairs)]
    bare = np.bincount(pairs.indices[original], minlength=train.labels) == 0
    pairs.data *= original | bare[pairs.indices]
    pairs.eliminate_zeros()
    return pairs
