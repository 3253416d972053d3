"""The synchronised head: its loss beside a plain one, teacher forcing, reach, detaching, the score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import expit
from torch import nn

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.row_table import RowTable
from tailwright.heads.cluster_head import ClusterHead
from tailwright.heads.label_groups import LabelGroups
from tailwright.heads.synchronised import SynchronisedHead, the_same
from tailwright.streams import stream

LABELS, WIDTH, CLUSTERS = 9, 5, 4
OF_LABEL = np.array([0, 1, 2, 3, 0, 1, 2, 3, -1], dtype=np.int32)
LISTS = [[0, 5], [3], [], [1, 2, 7]]
VALUES = [[1.0, 0.4], [0.7], [], [0.2, 1.0, 0.5]]
IGNORED = [[4], [], [6], [2]]
WEIGHTS = np.array([1, 0.5, 1, 2], dtype=np.float32)


def drawn(name: str, *shape: int) -> np.ndarray:
    return stream(0, name).standard_normal(shape, dtype=np.float32)


def head(top: int, **options: bool) -> SynchronisedHead:
    meta, vectors = ClusterHead(drawn("meta", CLUSTERS, WIDTH + 1)), RowTable(drawn("labels", LABELS, WIDTH))
    branches = nn.Identity(), nn.Identity()
    groups = LabelGroups(OF_LABEL)
    return SynchronisedHead(groups, branches, meta, vectors, the_same, top=top, **options).train()


def targets() -> BatchTargets:
    rows = Dataset(
        arrow_strings([""] * 4),
        pairs_from_lists(LISTS, LABELS, VALUES),
        WEIGHTS,
        pairs_from_lists(IGNORED, LABELS),
    )
    return BatchTargets.of(rows)


def states() -> torch.Tensor:
    return torch.from_numpy(drawn("states", 4, WIDTH)).requires_grad_()


def plain_loss(of: SynchronisedHead, x: np.ndarray, top: int, binary: tuple[bool, bool]) -> float:
    """Row by row, pair by pair."""
    table, vectors = of.meta.table.array, of.vectors.array
    total = 0.0
    for row in range(len(x)):
        learnt = {
            label: value
            for label, value in zip(LISTS[row], VALUES[row], strict=True)
            if label not in IGNORED[row]
        }
        logits = table[:, :-1] @ x[row] + table[:, -1]
        of_cluster: dict[int, float] = {}
        for label, value in learnt.items():
            cluster = int(OF_LABEL[label])
            of_cluster[cluster] = max(of_cluster.get(cluster, 0), 1.0 if binary[0] else value)
        unknown = {int(OF_LABEL[label]) for label in IGNORED[row]} - of_cluster.keys()
        for cluster in set(range(CLUSTERS)) - unknown:
            loss = np.logaddexp(0, logits[cluster]) - of_cluster.get(cluster, 0) * logits[cluster]
            total += WEIGHTS[row] * loss / (len(x) * CLUSTERS)
        ranked = sorted(range(CLUSTERS), key=lambda c: (c not in of_cluster, -logits[c]))
        chosen = ranked[: max(top, len(of_cluster))]
        listed = [label for label in range(LABELS) if OF_LABEL[label] in chosen]
        for label in set(listed) - set(IGNORED[row]):
            score = vectors[label] @ x[row]
            value = learnt.get(label, 0.0)
            value = float(value > 0) if binary[1] else value
            total += WEIGHTS[row] * (np.logaddexp(0, score) - value * score) / len(listed) / len(x)
    return total


@pytest.mark.parametrize("top", [1, 2, 4])
@pytest.mark.parametrize("binary", [(False, False), (True, False), (False, True)])
def test_the_loss_is_that_of_all_clusters_and_of_the_labels_in_the_best_and_true_ones(top, binary):
    of = head(top, binary_clusters=binary[0], binary_labels=binary[1])
    x = states()
    found = of(Encoded(x, None), targets()).item()
    assert found == pytest.approx(plain_loss(of, x.detach().numpy(), top, binary), rel=1e-5)


def test_label_weights_multiply_the_loss_of_made_rows():
    halved = replace(
        targets(),
        label_weights=np.full(LABELS, 0.5, dtype=np.float32),
        made=np.array([0, 1, 0, 1], dtype=np.float32),
    )
    lighter = replace(targets(), weights=WEIGHTS * np.array([1, 0.5, 1, 0.5], dtype=np.float32))
    of = head(2)
    assert of(Encoded(states(), None), halved).item() == of(Encoded(states(), None), lighter).item()


def test_positives_that_the_best_clusters_miss_are_counted_and_forced_in():
    of = head(1)
    of(Encoded(states(), None), targets())
    best = of.meta.logits(states()).argmax(1).tolist()
    pairs = [
        (row, label) for row, labels in enumerate(LISTS) for label in labels if label not in IGNORED[row]
    ]
    assert of.reach.positives == len(pairs)
    assert of.reach.reached == sum(OF_LABEL[label] == best[row] for row, label in pairs)
    assert of.reach.reached < of.reach.positives
    of.vectors.take_gradient()
    of(Encoded(states(), None), targets()).backward()
    learnt = of.vectors.take_gradient()
    assert {label for _, label in pairs} <= set(learnt[0].tolist())


def test_a_detached_extreme_classifier_does_not_reach_the_encoder():
    of, plain, detached = head(2), states(), states()
    of(Encoded(plain, None), targets()).backward()
    of(Encoded(detached, None), targets(), detached=True).backward()
    of_meta = states()
    learnt = targets().of_groups(OF_LABEL, CLUSTERS)
    of.meta(of_meta, learnt).backward()
    torch.testing.assert_close(detached.grad, of_meta.grad)
    assert not torch.allclose(plain.grad, of_meta.grad)


def test_a_score_is_the_probability_of_the_cluster_times_that_of_the_label():
    of, x = head(2).eval(), states().detach()
    top = of.top_k(Encoded(x, None), LABELS)
    clusters, labels = expit(of.meta.logits(x).numpy()), expit(x.numpy() @ of.vectors.array.T)
    for row in range(len(x)):
        best = np.argsort(-clusters[row])[:2]
        expected = {
            label: clusters[row, OF_LABEL[label]] * labels[row, label]
            for label in range(LABELS)
            if OF_LABEL[label] in best
        }
        ids = top.ids[row][top.ids[row] >= 0]
        assert ids.tolist() == sorted(expected, key=lambda label: -expected[label])
        np.testing.assert_allclose(expit(top.scores[row, : len(ids)]), [expected[i] for i in ids], rtol=1e-4)
