"""Label weights in every loss: that of a dense cross-entropy whose pairs of made rows have their factors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plain_heads
import plain_losses
import pytest
import torch
from plain_heads import (
    ATTENDED,
    CASES,
    LABELS,
    LISTS,
    ROWS,
    SHARED,
    WIDTH,
    ToyMixing,
    assert_same_loss,
    drawn,
    places_of,
    some_targets,
)

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import ReplacedPairs
from tailwright.heads import cluster_head
from tailwright.heads.candidate_head import CandidateDrawer, candidate_loss
from tailwright.heads.cluster_head import cluster_loss
from tailwright.heads.dense import DenseHead

MADE = np.array([1, 0, 1, 1, 0], dtype=np.float32)
WEIGHTS = np.linspace(0.25, 3, LABELS, dtype=np.float32)
FACTORS = torch.from_numpy(np.where(MADE[:, None] == 1, WEIGHTS, 1).astype(np.float64))  # (rows, labels)
CANDIDATES = {"all": None, "shared": SHARED, "lists": LISTS}


@pytest.fixture(params=["one block", "several blocks"], autouse=True)
def _blocks(request, monkeypatch):
    if request.param == "several blocks":
        plain_heads.several_blocks(monkeypatch)
        monkeypatch.setattr(cluster_head, "CLUSTERS_A_BLOCK", 4)


def weighted() -> BatchTargets:
    return replace(some_targets().sparse(), label_weights=WEIGHTS, made=MADE)


def scored(candidates: np.ndarray | None) -> torch.Tensor:
    """(rows, labels): the factors of the pairs that are scored, 0 for others."""
    return FACTORS if candidates is None else FACTORS * places_of(candidates)


@pytest.mark.parametrize("candidates", CANDIDATES.values(), ids=CANDIDATES.keys())
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_loss_of_a_head_equals_the_plain_form(case, candidates):
    case = case().leaves()
    plain = some_targets().mean_loss(case.plain(*case.tensors), ROWS, scored(candidates))
    loss = case.loss(weighted(), candidates=candidates, mean="rows")
    assert_same_loss(loss, plain, case.tensors)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_mean_over_pairs_is_over_as_many_as_without_label_weights(case):
    case = case()
    of_pairs, of_rows = (case.loss(weighted(), mean=mean) for mean in ("pairs", "rows"))
    torch.testing.assert_close(of_pairs * LABELS, of_rows)


@pytest.mark.parametrize("candidates", CANDIDATES.values(), ids=CANDIDATES.keys())
def test_a_sparse_head_equals_a_dense_one(candidates):
    states = drawn(1, ROWS, WIDTH).float()
    sparse, dense = (DenseHead(LABELS, WIDTH, seed=0, name="head", sparse=flag) for flag in (True, False))
    loss, expected = (
        head(Encoded(states, None), weighted(), candidates=candidates) for head in (sparse, dense)
    )
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("name", ATTENDED)
def test_contexts_replaced_by_themselves_leave_the_loss(name):
    case, targets = CASES[name]().leaves(), some_targets()
    rows, labels = (places.ravel() for places in np.indices((ROWS, LABELS)))

    def replaced(contexts):
        return ReplacedPairs(rows, labels, contexts(rows, labels), targets.targets[rows, labels])

    mixed = case.loss(weighted(), mixing=ToyMixing("pairs", replace_pairs=replaced))
    assert_same_loss(mixed, case.loss(weighted()), case.tensors)


def leaves() -> list[torch.Tensor]:
    """Vectors of the rows and of the labels."""
    shapes = ((ROWS, WIDTH), (LABELS, WIDTH))
    return [drawn(place, *shape).float().requires_grad_() for place, shape in enumerate(shapes)]


def test_the_loss_over_clusters_equals_the_plain_form():
    rows, table = leaves()
    plain = some_targets().mean_loss(rows @ table.T, ROWS * LABELS, FACTORS.float())
    assert_same_loss(cluster_loss(rows, table, weighted()), plain, [rows, table], 1e-5)


def test_the_loss_over_candidates_equals_the_plain_form():
    """All labels are candidates, in another order in every row."""
    rows, table = leaves()
    drawer = CandidateDrawer(np.arange(LABELS), LABELS, size=LABELS, positives=LABELS, random=0)
    lists = np.stack([np.roll(np.arange(LABELS, dtype=np.int32), row) for row in range(ROWS)])
    random = np.random.default_rng(0)
    candidates = drawer(weighted(), lists, drawer.random_labels(ROWS, random), random)
    plain = some_targets().mean_loss(rows @ table.T, ROWS, FACTORS.float())
    assert_same_loss(candidate_loss(rows, table, candidates), plain, [rows, table], 1e-5)


def test_the_decoupled_softmax_equals_the_plain_form():
    scores = drawn(3, ROWS, LABELS).requires_grad_()
    plain = plain_losses.decoupled_softmax(scores, weighted())
    assert_same_loss(plain_losses.differentiable(scores, weighted()), plain, [scores])
