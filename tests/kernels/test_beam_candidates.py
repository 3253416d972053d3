"""The candidates of beams: the kernel and a plain twin agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tailwright.kernels.cluster_beam import beam_candidates
from tailwright.streams import stream

LABELS, CLUSTERS, ROWS = 30, 8, 12


def plain_candidates(clusters, members, neighbours, positives, ignored, adds_missed, size):
    """A list of (label, target) for each row."""
    every = []
    for row in range(len(clusters)):
        inside = [label for cluster in clusters[row] if cluster >= 0 for label in members[cluster]]
        first = [*(positives[row] if adds_missed else []), *inside]
        listed = [label for label in dict.fromkeys(first) if label >= 0 and label not in ignored[row]][:size]
        near = [label for known in listed for label in neighbours[known]]
        found = dict.fromkeys([*listed, *(label for label in near if label >= 0)])
        kept = [label for label in found if label not in ignored[row]][:size]
        every.append([(label, positives[row].get(label, 0.0)) for label in kept])
    return every


def drawn_pairs(random, most):
    return [
        {
            int(label): float(np.float32(random.random()))
            for label in np.sort(random.permutation(LABELS)[:count])
        }
        for count in random.integers(0, most, ROWS)
    ]


@pytest.mark.parametrize(
    ("seed", "adds_missed", "size"), [*itertools.product(range(3), (False, True), (7, 30))]
)
def test_the_kernel_lists_what_the_plain_twin_lists(seed, adds_missed, size):
    random = stream(seed, "beams")
    members = random.permutation(np.r_[np.arange(LABELS), [-1, -1]]).reshape(CLUSTERS, -1).astype(np.int32)
    clusters = np.stack([random.permutation(np.arange(-1, CLUSTERS))[:3] for _ in range(ROWS)]).astype(
        np.int32
    )
    neighbours = random.integers(-1, LABELS, (LABELS, 2)).astype(np.int32)
    positives, ignored = drawn_pairs(random, 5), drawn_pairs(random, 3)
    starts, labels, targets = beam_candidates(
        clusters,
        members,
        neighbours,
        np.cumsum([0, *map(len, positives)]),
        np.array([label for row in positives for label in row], dtype=np.int32),
        np.array([value for row in positives for value in row.values()], dtype=np.float32),
        np.cumsum([0, *map(len, ignored)]),
        np.array([label for row in ignored for label in row], dtype=np.int32),
        adds_missed,
        size,
    )
    found = [
        list(zip(labels[start:end].tolist(), targets[start:end].tolist(), strict=True))
        for start, end in itertools.pairwise(starts)
    ]
    assert found == plain_candidates(clusters, members, neighbours, positives, ignored, adds_missed, size)
