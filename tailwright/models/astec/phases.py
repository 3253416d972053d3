"""How an `astec` learner is trained: its three phases, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import torch

from tailwright.data.pairs import stack_pairs
from tailwright.evaluation.ranking import TopK
from tailwright.heads.candidate_head import CandidateDrawer, CandidateHead
from tailwright.heads.shortlist import Shortlister
from tailwright.labels import GraphSettings
from tailwright.labels.surrogate_clusters import label_clusters, label_vectors
from tailwright.models.astec import AstecSettings
from tailwright.models.astec.network import ROWS_A_BLOCK, AstecNetwork, Classifier
from tailwright.models.shared.bag_rows import BagRows
from tailwright.training.batches import BatchDrawer, DrawnBatch
from tailwright.training.phases import Phase, Plan
from tailwright.training.schedules import PhaseSettings
from tailwright.training.shortlist_phases import (
    CandidatePhase,
    ClusterPhase,
    Encode,
    Intermediates,
    phase_plan,
)
from tailwright.training.watch import Answer, Watch


class LearnerTraining:
    """One learner in training. It can be watched from the extreme phase on, when labels have scores."""

    def __init__(
        self, network: AstecNetwork, rows: BagRows, between: Intermediates, name: str, seed: int
    ) -> None:
        self.network, self.rows, self.name, self.seed = network, rows, name, seed
        self.settings: AstecSettings = network.settings
        self._between = between
        self._watch, self._reranks = Watch(rows.watch, self._answer), False

    def phases(self) -> list[Phase]:
        """Surrogate, extreme and, where there is a reranker, rerank."""
        network, settings, data = self.network, self.settings, self.rows.data
        drawn, mixed = BatchDrawer(data), BatchDrawer(data, self.rows.mixes)
        assert network.surrogate is not None
        phases: list[Phase] = [
            ClusterPhase(
                f"{self.name} surrogate",
                self._plan(settings.surrogate, "encoder", "surrogate"),
                mixed,
                self._score_clusters,
                self.clusters,
                len(network.surrogate.head.table),
                binary=settings.clusters.targets == "binary",
            ),
            CandidatePhase(
                f"{self.name} extreme",
                self._plan(settings.extreme, "extreme"),
                drawn,
                self._encode_frozen,
                network.extreme.head,
                self.shortlists,
                self._candidates(settings.candidates.size, settings.candidates.random),
                partial(self._watched, reranks=False),
            ),
        ]
        if network.reranker is not None:
            listed = min(settings.stored, max(data.labels, 1))
            phases.append(
                CandidatePhase(
                    f"{self.name} rerank",
                    self._plan(settings.rerank, "reranker"),
                    mixed,
                    self._encode(network.reranker),
                    network.reranker.head,
                    self.best_labels,
                    self._candidates(listed + settings.candidates.positives, 0),
                    partial(self._watched, reranks=True),
                )
            )
        return phases

    def _plan(self, phase: PhaseSettings, *modules: str) -> Plan:
        names = [f"{self.name}.{module}" for module in modules]
        return phase_plan(phase, len(self.rows.data), self.settings.batch, *names)

    def _candidates(self, size: int, random: int) -> CandidateDrawer:
        carried = np.flatnonzero(self.rows.targets.sum(axis=0) > 0)
        positives = self.settings.candidates.positives
        return CandidateDrawer(carried, self.rows.data.labels, size=size, positives=positives, random=random)

    def _score_clusters(self, batch: DrawnBatch, _: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        surrogate = self.network.surrogate
        assert surrogate is not None
        return surrogate.head.scored(surrogate(self.rows.texts.take(batch.rows, batch.appended)))

    def _encode(self, classifier: Classifier[CandidateHead]) -> Encode:
        return lambda batch: classifier(self.rows.texts.take(batch.rows, batch.appended))

    def _encode_frozen(self, batch: DrawnBatch) -> torch.Tensor:
        queries: torch.Tensor = self.network.extreme.residual(torch.from_numpy(self.vectors()[batch.rows]))
        return queries

    def clusters(self) -> np.ndarray:
        """(labels,): the cluster of each label."""
        rows, clusters, surrogate = self.rows, self.settings.clusters, self.network.surrogate
        assert surrogate is not None
        count = len(surrogate.head.table)

        def make() -> np.ndarray:
            smoothing = clusters.smoothing
            vectors = label_vectors(
                rows.data,
                rows.matrix,
                rows=clusters.rows,
                graph=GraphSettings(smoothing.steps, smoothing.restart, smoothing.top, smoothing.head_cut),
                most_rows=smoothing.most_rows,
                seed=self.seed,
            )
            return label_clusters(vectors, count, self.seed)

        return self._between.get(self.name, "clusters", make)

    def vectors(self) -> np.ndarray:
        """(rows, width): the coarse vectors of the training rows, once word vectors are frozen."""
        encoder, texts = self.network.encoder, self.rows.texts
        return self._between.get(self.name, "vectors", lambda: encoder.vectors(texts.rows))

    def shortlister(self) -> Shortlister:
        """Lists labels by the training rows."""

        def make() -> Shortlister:
            return Shortlister(self.vectors(), self.rows.targets, self.settings.shortlist, self.seed)

        return self._between.get(self.name, "centroids", make)

    def shortlists(self) -> np.ndarray:
        """(rows, listed): the labels listed for each training row."""
        return self._between.get(
            self.name, "shortlists", lambda: self.shortlister().lists(self.vectors()).ids
        )

    def best_labels(self) -> np.ndarray:
        """(rows, stored): the labels that the extreme classifier ranks highest for each training row."""

        def make() -> np.ndarray:
            lists, vectors, network = self.shortlists(), self.vectors(), self.network
            network.extreme.eval()
            labels = [network.best_of(vectors[:0], lists[:0]).ids]
            for start in range(0, len(lists), ROWS_A_BLOCK):
                block = slice(start, start + ROWS_A_BLOCK)
                labels.append(network.best_of(vectors[block], lists[block]).ids)
            self._between.drop("shortlists")
            return np.concatenate(labels)

        return self._between.get(self.name, "ranked lists", make)

    def _watched(self, *, reranks: bool) -> Mapping[str, float]:
        """P@1 on what is watched, with the reranker once it learns."""
        self._reranks = reranks
        return self._watch()

    def _answer(self, texts: pa.LargeStringArray) -> Answer:
        """What the learner says of the watched texts, whose vectors and shortlists are frozen."""
        bags = self.rows.read(texts)
        vectors = self.network.encoder.vectors(bags)
        near = self.shortlister().lists(vectors)
        excluded = stack_pairs([data.excluded for data in self._watch.data.values()])

        def answer(k: int) -> TopK:
            top = self.network.ranked(bags, vectors, near, excluded, reranks=self._reranks)
            return TopK(top.ids[:, :k], top.scores[:, :k])

        return answer
