"""Balanced clustering: 131,072 label vectors of 12 words out of 40,000 into 32,768 leaves; and dense vectors.

    .venv/bin/python benchmarks/bench_clustering.py

Words are drawn by Zipf's odds, so a few are in most labels' texts as in real titles. Compilation is not part
of the times. `mean_similarity` is that of labels to the centre of their leaf; `at_random` is that of leaves
of the same size drawn by lot.
"""

from __future__ import annotations

import common
import numpy as np
from scipy import sparse

LABELS, WORDS, A_LABEL, LEAVES, DIMENSIONS = 131_072, 40_000, 12, 32_768, 300


def word_vectors() -> sparse.csr_array:
    random = np.random.Generator(np.random.Philox(key=1))
    odds = 1 / np.arange(1, WORDS + 1) ** 0.8
    words = random.choice(WORDS, size=LABELS * A_LABEL, p=odds / odds.sum())
    weights = random.random(len(words), dtype=np.float32) + 0.1
    return sparse.csr_array((weights, words, np.arange(0, len(words) + 1, A_LABEL)), shape=(LABELS, WORDS))


def mean_similarity(vectors: sparse.csr_array, leaves: np.ndarray) -> float:
    """Labels have length 1, so the sum of a leaf's similarities to its centre is the length of its sum."""
    members = sparse.csr_array((np.ones(LABELS), (leaves, np.arange(LABELS))))
    sums = members @ vectors
    return float(np.sqrt(sums.multiply(sums).sum(axis=1)).sum() / LABELS)


def main() -> None:
    from tailwright.labels import balanced_clusters
    from tailwright.labels.vectors import unit_rows

    vectors = unit_rows(word_vectors())
    random = np.random.Generator(np.random.Philox(key=2))
    dense = random.standard_normal((LABELS, DIMENSIONS), dtype=np.float32)
    balanced_clusters(vectors[:100], 8)
    balanced_clusters(dense[:100], 8)
    leaves = balanced_clusters(vectors, LEAVES)
    taken = common.interleaved(
        {
            "sparse": lambda: balanced_clusters(vectors, LEAVES),
            "dense": lambda: balanced_clusters(dense, LEAVES),
        },
        repeats=3,
    )
    common.emit(
        "clustering",
        {
            "labels": LABELS,
            "leaves": int(leaves.max()) + 1,
            "nonzeros": int(vectors.nnz),
            "dense_dimensions": DIMENSIONS,
            "seconds": {name: round(value, 3) for name, value in taken.items()},
            "leaf_sizes": sorted({int(size) for size in np.bincount(leaves)}),
            "mean_similarity": round(mean_similarity(vectors, leaves), 4),
            "at_random": round(mean_similarity(vectors, random.permutation(leaves)), 4),
            "peak_mb": round(common.peak_rss_bytes() / 2**20),
        },
    )


if __name__ == "__main__":
    main()
