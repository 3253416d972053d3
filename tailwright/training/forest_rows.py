"""`ForestRows`: what the trees of a forest are trained on, each in an order of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tailwright.data.batch_targets import TargetRows
from tailwright.data.pairs import CsrArrays, csr_arrays
from tailwright.kernels.csr import gather_rows
from tailwright.streams import stream
from tailwright.training.one_versus_rest import Solver, TreeRows


@dataclass(frozen=True, eq=False)
class ForestRows:
    """The features and the targets of all rows, and how classifiers are solved."""

    matrix: sparse.csr_array  # (rows, columns)
    targets: TargetRows
    solver: Solver  # its seed is that of the fit: each tree draws its own

    def of_tree(self, number: int) -> tuple[np.ndarray, TreeRows, Solver]:
        """The order of the rows in the tree of that number, the rows in this order, and the tree's solver."""
        draw = stream(self.solver.seed, "linear", number)
        # In random order, because a solver starts with the first rows as a sample of all.
        order = draw.permutation(len(self.targets))
        rows = TreeRows(
            self._features(order),
            self.matrix.shape[1],
            self.targets.for_kernels()(order),
            self.targets.labels,
        )
        return order, rows, replace(self.solver, seed=int(draw.integers(2**62)))

    def _features(self, order: np.ndarray) -> CsrArrays:
        if self.matrix.data.flags.writeable:
            return gather_rows(*csr_arrays(self.matrix), order)
        return csr_arrays(
            self.matrix[order]
        )  # sent by another process: kernels would need a copy of all of it
