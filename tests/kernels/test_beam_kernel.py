"""Beam search down a forest: equal to a plain walk over dense weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tailwright.kernels.linear import LOGISTIC, SQUARED_HINGE
from tailwright.training.forest import Forest


def activation(margin: float, loss: int) -> float:
    if loss == SQUARED_HINGE:
        return float(np.exp(-(max(0.0, 1 - margin) ** 2)))
    return float(1 / (1 + np.exp(-margin)))


def plain_search(forest: Forest, row: np.ndarray, k: int, beam: int, loss: int) -> list[tuple[int, float]]:
    """(label, score) of the best k, by dictionaries and full sorts."""
    totals: dict[int, float] = {}
    weights = forest.weights.toarray()
    for root in forest.roots:
        nodes = [(1.0, int(root))]
        while nodes:
            below = []
            for score, node in nodes:
                first, last = forest.slot_starts[node], forest.slot_starts[node + 1]
                margins = forest.biases[first:last].astype(float)
                for pair in range(forest.pair_starts[node], forest.pair_starts[node + 1]):
                    margins = margins + row[forest.features[pair]] * weights[pair, : last - first]
                for slot in range(first, last):
                    mine = score * activation(margins[slot - first], loss)
                    child = int(forest.children[slot])
                    if child >= 0:
                        below.append((mine, child))
                    else:
                        totals[-1 - child] = totals.get(-1 - child, 0) + mine / len(forest.roots)
            nodes = sorted(below, key=lambda found: (-found[0], found[1]))[:beam]
    return sorted(totals.items(), key=lambda found: (-found[1], found[0]))[:k]


def some_forest(seed: int, labels: int = 12, columns: int = 9, trees: int = 2) -> Forest:
    """Trees of three clusters of labels, with random weights for some of the features."""
    random = np.random.default_rng(seed)
    slots, children, features, pairs, roots = [], [], [], [], []
    for _ in range(trees):
        root = len(slots)
        roots.append(root)
        clusters = np.array_split(random.permutation(labels), 3)
        slots += [3, *(len(cluster) for cluster in clusters)]
        children += [root + 1, root + 2, root + 3, *(-1 - np.concatenate(clusters))]
        for _ in range(4):
            used = np.sort(random.choice(columns, size=5, replace=False))
            features += used.tolist()
            pairs.append(len(used))
    widest = max(slots)
    weights = np.zeros((len(features), widest), dtype=np.float32)
    owner = np.repeat(np.arange(len(slots)), pairs)
    for pair, node in enumerate(owner):
        weights[pair, : slots[node]] = random.normal(size=slots[node]) * (random.random(slots[node]) < 0.7)
    return Forest(
        labels,
        columns,
        np.array(roots, np.int32),
        np.concatenate([[0], np.cumsum(slots)]),
        np.array(children, np.int32),
        random.normal(size=sum(slots)).astype(np.float32),
        np.concatenate([[0], np.cumsum(pairs)]),
        np.array(features, np.int32),
        sparse.csr_array(weights),
    )


@pytest.mark.parametrize("loss", [SQUARED_HINGE, LOGISTIC])
@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_equals_the_plain_walk(loss, beam, seed):
    forest = some_forest(seed)
    random = np.random.default_rng(seed)
    rows = (random.random((20, 9)) * (random.random((20, 9)) < 0.5)).astype(np.float32)
    top = forest.search(sparse.csr_array(rows), 15, beam=beam, loss=loss)
    for row, ids, scores in zip(rows, top.ids, top.scores, strict=True):
        expected = plain_search(forest, row, 15, beam, loss)
        score_of = dict(expected)
        found = ids[: len(expected)]
        assert (ids[len(expected) :] == -1).all()
        # Scores that differ only in their last digits may change places, so each label is held to its own.
        assert np.allclose(scores[: len(expected)], [score_of[label] for label in found], rtol=1e-4)
        assert np.allclose(scores[: len(expected)], [score for _, score in expected], rtol=1e-4)


def test_equal_scores_go_to_the_smaller_label():
    forest = some_forest(0)
    flat = Forest(
        forest.labels,
        forest.columns,
        forest.roots,
        forest.slot_starts,
        forest.children,
        np.zeros_like(forest.biases),
        forest.pair_starts,
        forest.features,
        forest.weights,
    )
    nothing = sparse.csr_array((1, 9), dtype=np.float32)
    assert flat.search(nothing, 4, beam=3, loss=SQUARED_HINGE).ids.tolist() == [[0, 1, 2, 3]]


def test_a_row_alone_is_scored_as_among_others():
    forest = some_forest(3)
    rows = sparse.random_array(
        (40, 9), density=0.4, rng=np.random.default_rng(0), format="csr", dtype=np.float32
    )
    rows.sort_indices()
    whole = forest.search(rows, 5, beam=2, loss=SQUARED_HINGE)
    for row in (0, 17, 39):
        one = forest.search(rows[[row]], 5, beam=2, loss=SQUARED_HINGE)
        assert np.array_equal(one.ids[0], whole.ids[row])
        assert np.array_equal(one.scores[0], whole.scores[row])
