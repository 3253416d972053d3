"""The rows that describe a label when labels are clustered."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids


def taught_pairs(train: Dataset) -> sparse.csr_array:
    """(rows, labels): the rows that describe each label, its target there times the weight of the row.

    These are its original rows, or, if it has none, those that an augmentation made.
    """
    pairs = train.weighted_targets()
    original = train.origin.is_original()[row_ids(pairs)]
    bare = np.bincount(pairs.indices[original], minlength=train.labels) == 0
    pairs.data *= original | bare[pairs.indices]
    pairs.eliminate_zeros()
    return pairs
