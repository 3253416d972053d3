"""The clusters of labels that a meta classifier ranks."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.text.tfidf import TfIdf
from tailwright.heads.shortlist_settings import ClusterSettings
from tailwright.labels import GraphSettings
from tailwright.labels.surrogate_clusters import cluster_count, label_clusters, label_vectors


def described_labels(train: Dataset, settings: ClusterSettings, seed: int) -> sparse.csr_array:
    """(labels, words): the words of each label's rows, smoothed over the label graph."""
    smoothing = settings.smoothing
    return label_vectors(
        train,
        TfIdf.fit_transform(train.texts)[1],
        rows=settings.rows,
        graph=GraphSettings(smoothing.steps, smoothing.restart, smoothing.top, smoothing.head_cut),
        most_rows=smoothing.most_rows,
        seed=seed,
    )


def learner_clusters(
    vectors: sparse.csr_array, corpus: Corpus, settings: ClusterSettings, seed: int
) -> np.ndarray:
    """(labels,) int32: the cluster of each label, -1 for one without a vector."""
    described = int(np.count_nonzero(corpus.labels.counts))
    return label_clusters(vectors, cluster_count(described, settings.count, settings.labels_each), seed)
