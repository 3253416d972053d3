"""What a row's weight does: 0 leaves the row out, 2 counts it twice, wherever rows are summed over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from plain_losses import batch_targets, differentiable
from toy_parts import KnowsFrequent, KnowsRare, Toy, toy_corpus

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.text.tfidf import TfIdf
from tailwright.evaluation.logistic import logistic_curve
from tailwright.heads.candidate_head import CandidateLists, candidate_loss
from tailwright.heads.cluster_head import cluster_loss
from tailwright.heads.shortlist import label_centroids
from tailwright.labels import GraphSettings
from tailwright.labels.shared import shared_tree
from tailwright.labels.surrogate_clusters import label_vectors
from tailwright.labels.tree import TreeShape
from tailwright.labels.vectors import pifa
from tailwright.models import models
from tailwright.models.linear import LOSSES, Linear, LinearSettings
from tailwright.models.popularity import Popularity
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.model import Twin
from tailwright.models.twin.network import TwinNetwork
from tailwright.models.twin.phases import TwinPhase
from tailwright.store import writing

# Rows of the tiny corpus that are taken twice, or weigh 2.
TWICE = np.arange(0, 120, 3)
INDEX = np.concatenate([np.arange(120), TWICE])


def heavier(train: Dataset, rows: np.ndarray = TWICE) -> Dataset:
    weights = train.weights.copy()
    weights[rows] = 2
    return replace(train, weights=weights)


def with_silent_rows(corpus: Corpus) -> Corpus:
    """The corpus with rows of weight 0 before, among and behind its own; they would change a lot."""
    train = corpus.train
    silent = replace(
        train.take(np.arange(20)), texts=[f"silent {n} apple" for n in range(20)], weights=np.zeros(20)
    )
    half = len(train) // 2
    first, second = train.take(np.arange(half)), train.take(np.arange(half, len(train)))
    return corpus.with_train(Dataset.concat([silent, first, silent, second, silent]))


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("augment", [(), ("gandalf",), ("eda", "wordnet")], ids="+".join)
@pytest.mark.parametrize("model", ["linear", "twin", "popularity", "label-matcher"])
def test_a_training_with_rows_of_weight_0_is_one_without_them(
    model: str, augment: tuple[str, ...], tmp_path: Path
) -> None:
    corpus = tiny_corpus()
    every = {"rows": "all", "min_words": 1}
    settings = {name: every for name in augment if name != "gandalf"}
    runs = [
        tw.train(source, model, augment=augment, augment_settings=settings, seed=3)
        for source in (corpus, with_silent_rows(corpus))
    ]
    texts = [*corpus.train.texts.to_pylist(), "silent 3"]
    one, other = (run.model.predict(texts, 5) for run in runs)
    assert np.array_equal(one.ids, other.ids)
    assert np.array_equal(one.scores, other.scores)
    for number, run in enumerate(runs):
        with writing(tmp_path / str(number), kind="model") as folder:
            run.model.save(folder)
    assert _files(tmp_path / "0") == _files(tmp_path / "1")


@pytest.mark.parametrize("model", ["twin", pytest.param("astec", marks=pytest.mark.slow)])
def test_mixed_batches_with_rows_of_weight_0_are_those_without_them(model: str) -> None:
    small: dict[str, Any] = {"width": 8}
    phases = ("",) if model == "twin" else ("surrogate.", "extreme.", "rerank.")
    small |= {f"{phase}epochs": 1 for phase in phases}
    corpus = tiny_corpus()
    tops = [
        tw.train(source, model, settings=small, augment=["labelmix"], seed=1).model.predict(
            corpus.train.texts, 5
        )
        for source in (corpus, with_silent_rows(corpus))
    ]
    assert np.array_equal(tops[0].ids, tops[1].ids)
    assert np.array_equal(tops[0].scores, tops[1].scores)


def test_a_fusion_holds_no_rows_of_weight_0_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (KnowsFrequent, KnowsRare):
        monkeypatch.setitem(models._found, part.card.name, part)
    monkeypatch.setattr(Toy, "fits", [])
    monkeypatch.setattr(Toy, "questions", [])
    kind = models.get("knows-frequent+knows-rare")
    corpus = toy_corpus(1200)
    weights = np.where(np.arange(1200) % 3 == 1, 0, 1).astype(np.float32)
    kept = corpus.with_train(corpus.train.take(np.flatnonzero(weights)))
    for source in (kept, corpus.with_train(replace(corpus.train, weights=weights))):
        kind(replace(kind.Settings(), held_out=0.1, few_rows=0)).fit(source, seed=2)
    for one, other in zip(Toy.fits[:2], Toy.fits[2:], strict=True):
        assert one[1].train.same_as(other[1].train)
        assert np.array_equal(one[1].labels.counts, other[1].labels.counts)
    assert Toy.questions[:2] == Toy.questions[2:]
    assert len(Toy.questions[0][1]) == 80


def test_popularity_counts_a_row_of_weight_2_twice() -> None:
    corpus = tiny_corpus()
    one, other = Popularity(), Popularity()
    one.fit(corpus.with_train(heavier(corpus.train)))
    other.fit(corpus.with_train(corpus.train.take(INDEX)))
    assert np.array_equal(one.frequencies, other.frequencies)


@pytest.mark.parametrize("loss", ["squared hinge", "logistic"])
@pytest.mark.parametrize("depth", [1, 2])
def test_linear_solves_the_same_problem_for_weight_2_and_for_a_row_twice(loss: str, depth: int) -> None:
    """Over the same features and clusters: the optimum is one point, which both come near to."""
    corpus = tiny_corpus()
    settings = LinearSettings(
        trees=1, depth=depth, branching=2, cluster_size=3, loss=loss, tolerance=1e-5, prune=0.0
    )
    matrix = TfIdf.fit_transform(corpus.train.texts)[1]
    sources = {
        "weight 2": (heavier(corpus.train), matrix),
        "twice": (corpus.train.take(INDEX), matrix[INDEX]),
        "weight 1": (corpus.train, matrix),
    }
    vectors = {name: pifa(train.weighted_targets(), rows) for name, (train, rows) in sources.items()}
    assert np.allclose(vectors["weight 2"].toarray(), vectors["twice"].toarray(), atol=1e-6)
    assert not np.allclose(vectors["weight 1"].toarray(), vectors["twice"].toarray(), atol=1e-3)
    labels = np.arange(10, dtype=np.int32)
    tree = shared_tree(vectors["twice"][labels], labels, TreeShape(depth, 2, 3), seed=0, threads=1)
    scores = {}
    for name, (train, rows) in sources.items():
        forest = Linear(settings)._tree(0, tree, train, rows, seed=0)
        top = forest.search(matrix, 10, beam=10, loss=LOSSES[loss])
        scores[name] = np.take_along_axis(top.scores, np.argsort(top.ids, axis=1), axis=1)
    assert np.allclose(scores["weight 2"], scores["twice"], atol=1e-3)
    assert not np.allclose(scores["weight 1"], scores["twice"], atol=1e-2)


def test_a_batch_of_twin_has_the_gradients_of_one_with_the_row_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses are means over the rows of a batch, so 3 rows, one of weight 2, stand beside 4."""
    fits: list[tuple[TwinNetwork, TwinPhase]] = []
    monkeypatch.setattr(
        "tailwright.models.twin.model.run_phases",
        lambda network, phases, **_: fits.append((network, phases[0])),
    )
    corpus = tiny_corpus()
    for train in (heavier(corpus.train, np.array([7])), corpus.train, corpus.train):
        Twin(TwinSettings(width=8)).fit(corpus.with_train(train), seed=1)
    gradients = []
    for (network, phase), rows in zip(fits, ([3, 7, 9], [3, 7, 9, 7], [3, 7, 9]), strict=True):
        for array in network.dense.values():
            array += np.float32(0.1)  # zeros would hide some of the gradients
        loss = phase.loss(np.array(rows), np.random.default_rng(0), {})
        of_tables = [gradient for _, gradient in loss.tables.values()]
        gradients.append(
            [len(rows) * array for array in (np.float32(loss.value), *of_tables, *loss.dense.values())]
        )
    for heavy, twice, once in zip(*gradients, strict=True):
        assert np.allclose(heavy, twice, rtol=1e-4, atol=1e-6)
        assert not np.allclose(once, twice, rtol=1e-2, atol=1e-6)


ROWS, LABELS, WIDTH = 4, 9, 5
REPEATED = np.array([0, 1, 2, 3, 2])
Loss = Callable[[torch.Tensor, torch.Tensor, np.ndarray, np.ndarray], torch.Tensor]


def _softmax_loss(
    queries: torch.Tensor, table: torch.Tensor, rows: np.ndarray, weights: np.ndarray
) -> torch.Tensor:
    scores = queries @ table[:, :-1].T + table[:, -1]
    return differentiable(scores, batch_targets(TARGETS[rows], IGNORED[rows], weights))


def _cluster_loss(
    queries: torch.Tensor, table: torch.Tensor, rows: np.ndarray, weights: np.ndarray
) -> torch.Tensor:
    targets = batch_targets(TARGETS[rows], IGNORED[rows], weights)
    return cluster_loss(torch.cat([queries, torch.ones(len(rows), 1)], 1), table, targets)


def _candidate_loss(
    queries: torch.Tensor, table: torch.Tensor, rows: np.ndarray, weights: np.ndarray
) -> torch.Tensor:
    # The candidates of row i are the labels i to i + 5.
    labels = np.concatenate([np.arange(row, row + 6) for row in rows]).astype(np.int32)
    targets = np.concatenate([TARGETS[row, row : row + 6] for row in rows])
    ends = 6 * np.arange(len(rows) + 1, dtype=np.int64)
    ones = torch.ones(len(rows), 1)
    lists = CandidateLists(ends, labels, targets, weights)
    return candidate_loss(torch.cat([queries, ones], 1), table, lists)


_draws = np.random.default_rng(5)
TARGETS = (_draws.random((ROWS, LABELS)) * (_draws.random((ROWS, LABELS)) < 0.4)).astype(np.float32)
IGNORED = (_draws.random((ROWS, LABELS)) < 0.2).astype(np.float32)


@pytest.mark.parametrize(
    "loss",
    [_softmax_loss, _cluster_loss, _candidate_loss],
    ids=["decoupled_softmax", "cluster_loss", "candidate_loss"],
)
def test_every_loss_of_a_row_of_weight_2_is_that_of_the_row_twice(loss: Loss) -> None:
    """Value and gradients, times the rows of the batch, which they are divided by."""
    draws = np.random.default_rng(3)
    start = [draws.normal(size=shape).astype(np.float32) for shape in ((ROWS, WIDTH), (LABELS, WIDTH + 1))]
    plain = np.array([1, 0.5, 1, 0.25], dtype=np.float32)

    def learnt(rows: np.ndarray, weights: np.ndarray) -> list[torch.Tensor]:
        queries, table = (torch.tensor(array, requires_grad=True) for array in start)
        value = len(rows) * loss(queries[torch.from_numpy(rows)], table, rows, weights)
        value.backward()  # type: ignore[no-untyped-call]
        assert queries.grad is not None
        assert table.grad is not None
        return [value.detach(), queries.grad, table.grad]

    rows = np.arange(ROWS)
    once = learnt(rows, plain)
    heavy = learnt(rows, plain * np.array([1, 1, 2, 1], dtype=np.float32))
    twice = learnt(REPEATED, plain[REPEATED])
    for one, other in zip(heavy, twice, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-6)
    assert not torch.allclose(once[2], twice[2], rtol=1e-2)


def test_what_astec_makes_of_rows_is_the_same_for_weight_2_and_for_a_row_twice() -> None:
    corpus = tiny_corpus()
    matrix = TfIdf.fit_transform(corpus.train.texts)[1]
    asked: dict[str, Any] = {"rows": "all", "graph": GraphSettings(40, 0.8, 5), "most_rows": 1, "seed": 0}
    heavy = label_vectors(heavier(corpus.train), matrix, **asked)
    twice = label_vectors(corpus.train.take(INDEX), matrix[INDEX], **asked)
    assert np.allclose(heavy.toarray(), twice.toarray(), atol=1e-4)
    points = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    weighted = heavier(corpus.train).weighted_targets()
    repeated = corpus.train.take(INDEX).weighted_targets()
    one, other = label_centroids(points, weighted), label_centroids(points[INDEX], repeated)
    assert np.array_equal(one.owners, other.owners)
    assert np.allclose(one.vectors, other.vectors, atol=1e-5)


def test_the_probabilities_of_a_fusion_count_a_pair_of_weight_2_twice() -> None:
    draws = np.random.default_rng(1)
    scores, targets = draws.normal(size=50), draws.random(50)
    weights = np.where(np.arange(50) % 4 == 0, 2.0, 1.0)
    index = np.concatenate([np.arange(50), np.arange(0, 50, 4)])
    heavy, twice = (
        logistic_curve(scores, targets, weights),
        logistic_curve(scores[index], targets[index], np.ones(len(index))),
    )
    assert np.allclose(heavy, twice, atol=1e-6)
    assert not np.allclose(logistic_curve(scores, targets, np.ones(50)), twice, atol=1e-3)
