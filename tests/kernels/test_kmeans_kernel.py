"""The two steps of spherical k-means: equal to dense NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tailwright.data.pairs import csr_arrays
from tailwright.kernels.clustering import mean_directions, nearest_centroids

# Eighths are exact in float32, so sums in any order are equal and ties are real ties.
values = st.sampled_from([0.0, 0.0, 0.125, 0.25, 0.5, 1.0])


@given(st.data(), st.integers(1, 8), st.integers(1, 6), st.integers(1, 5))
def test_the_steps_equal_the_dense_form(data, count, columns, clusters):
    def dense(rows: int, width: int) -> np.ndarray:
        flat = data.draw(st.lists(values, min_size=rows * width, max_size=rows * width))
        return np.array(flat, dtype=np.float32).reshape(rows, width)

    vectors, centroids = dense(count, columns), dense(columns, clusters)
    parts = csr_arrays(sparse.csr_array(vectors))
    found = np.empty(count, dtype=np.int32)
    total = nearest_centroids(*parts, centroids, 0, count, found)
    similarities = vectors @ centroids
    assert found.tolist() == similarities.argmax(axis=1).tolist()
    assert np.isclose(total, similarities.max(axis=1).sum())
    mean_directions(*parts, found, centroids)
    for cluster in range(clusters):
        mean = vectors[found == cluster].sum(axis=0)
        expected = mean / max(np.linalg.norm(mean), 1e-9)
        assert np.allclose(centroids[:, cluster], expected, atol=1e-6)
