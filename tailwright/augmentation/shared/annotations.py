"""Soft annotations of the labels of a corpus, from the correlation graph of its original training rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.labels.annotations import soft_annotations
from tailwright.labels.correlation import GraphSettings
from tailwright.labels.shared import shared_graph


def annotations_of(
    corpus: Corpus, graph: GraphSettings, *, threshold: float, seed: int = 0
) -> sparse.csr_array:
    """`soft_annotations` of the correlation graph of the original training rows alone."""
    rows = corpus.train.originals()
    # A walk draws rows by their place: the order of the file makes it independent of the order here.
    in_order = rows.targets[np.argsort(rows.origin.rows, kind="stable")]
    return soft_annotations(shared_graph(in_order, graph, seed), threshold)
