"""The three phases of an `astec` learner, and what lies between them.

| phase | trains | on |
|---|---|---|
| surrogate | word vectors | clusters of labels, all of them scored for each row |
| extreme | a vector a label | frozen text vectors; a row's positives, its shortlist, labels at random |
| rerank | a second network | a row's positives and the labels that the first classifier ranks highest |

What a phase needs of those before it (clusters, vectors, shortlists) is a function of frozen weights. It is
made when the phase first asks for it, and made again by a training that is resumed, never checkpointed.

The extreme and the rerank phase can be watched; in the surrogate phase there are no scores of labels yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import torch
from scipy import sparse
from torch.nn import functional

from tailwright.data.dataset import Dataset
from tailwright.encoders.bags import Bags, bag_sum, share_words
from tailwright.encoders.dropout import kept_cells
from tailwright.encoders.joined_bags import BagJoiner
from tailwright.encoders.row_table import RowTable
from tailwright.evaluation.ranking import TopK
from tailwright.heads.shortlist import Candidates, Shortlister, added, candidate_loss
from tailwright.kernels.bags import number_locally
from tailwright.kernels.shortlist import candidate_lists
from tailwright.models.astec.cluster_loss import every_cluster_loss
from tailwright.models.astec.clusters import label_clusters, label_vectors
from tailwright.models.astec.learner import FittedLearner
from tailwright.models.astec.network import ROWS_A_BLOCK, AstecNetwork, Classifier, coarse_vectors
from tailwright.training.batches import BatchDrawer, BatchMix, DrawnBatch
from tailwright.training.phases import Phase, Plan
from tailwright.training.watch import Answer, Watch
from tailwright.training.weights import Arrays
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    from tailwright.models.astec.settings import AstecSettings

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Material:
    """What all learners train on: rows that have words and labels."""

    data: Dataset
    matrix: sparse.csr_array  # (rows, words) TF-IDF
    texts: BagJoiner
    targets: sparse.csr_array  # (rows, labels): learnt targets times the row's weight
    mixes: Sequence[BatchMix]
    settings: AstecSettings
    work: Workplace
    read: Callable[[pa.LargeStringArray], Bags]
    watch: Mapping[str, Dataset] = field(default_factory=dict)
    held: dict[str, Any] = field(default_factory=dict)


class Learner:
    """One learner: its network, and what is made between its phases, kept while the learner trains."""

    def __init__(self, material: Material, network: AstecNetwork, number: int, seed: int) -> None:
        self.material, self.network, self.number, self.seed = material, network, number, seed
        self._watch, self._reranks = Watch(material.watch, self._answer), False

    @property
    def name(self) -> str:
        return f"learner-{self.number + 1}"

    def phases(self) -> list[Phase]:
        chosen, rows, network = self.material.settings, len(self.material.data), self.network
        rate = chosen.rate("surrogate", rows)
        rates = {f"{self.name}.words": rate, **network.surrogate.rates(f"{self.name}.surrogate", rate)}
        found: list[Phase] = [SurrogatePhase(self, chosen.plan("surrogate", rates, rows))]
        rates = network.extreme.rates(f"{self.name}.extreme", chosen.rate("extreme", rows))
        found.append(ExtremePhase(self, chosen.plan("extreme", rates, rows)))
        if network.rerank is not None:
            rate = chosen.rate("rerank", rows)
            rates = {f"{self.name}.rerank.words": rate, **network.rerank.rates(f"{self.name}.rerank", rate)}
            found.append(RerankPhase(self, chosen.plan("rerank", rates, rows)))
        return found

    def watched(self, *, reranks: bool) -> Mapping[str, float]:
        """P@1 of what is watched by the learner as it is, the reranker included once it learns."""
        self._reranks = reranks
        return self._watch()

    def _answer(self, texts: pa.LargeStringArray) -> Answer:
        """What the learner says of texts; their vectors and shortlists are frozen with the word vectors."""
        bags = self.material.read(texts)
        vectors = coarse_vectors(bags, self.network.words.weight)
        near = self.shortlister().lists(vectors)

        def answer(k: int) -> TopK:
            first, second = FittedLearner.readers(self.network)
            reranker = second if self._reranks else None
            now = FittedLearner(first, reranker, self.shortlister(), self.material.settings)
            top = now.ranked(bags, vectors, near)
            return TopK(top.ids[:, :k], top.scores[:, :k])

        return answer

    def clusters(self) -> np.ndarray:
        """(labels,) the cluster of each label."""
        chosen, material = self.material.settings, self.material

        def make() -> np.ndarray:
            vectors = label_vectors(
                material.data,
                material.matrix,
                rows=chosen.cluster_rows,
                steps=chosen.smoothing_steps,
                restart=chosen.smoothing_restart,
                top=chosen.smoothing_top,
                dense_from=chosen.smoothing_limit,
                seed=self.seed,
            )
            return label_clusters(vectors, len(self.network.surrogate.table.weight), self.seed)

        return self._kept("clusters", make)

    def vectors(self) -> np.ndarray:
        """(rows, width): the frozen vectors of the training rows."""
        words = self.network.words.weight
        return self._kept("vectors", lambda: coarse_vectors(self.material.texts.rows, words))

    def shortlister(self) -> Shortlister:
        material = self.material
        chosen = material.settings.shortlists(material.data.labels)
        return self._kept(
            "centroids", lambda: Shortlister(self.vectors(), material.targets, chosen, self.seed)
        )

    def lists(self) -> np.ndarray:
        """(rows, size): the shortlist of each training row."""
        return self._kept("shortlists", lambda: self.shortlister().lists(self.vectors()).ids)

    def ranked_lists(self) -> np.ndarray:
        """(rows, stored): the labels that the extreme classifier ranks highest for each training row."""

        def make() -> np.ndarray:
            lists, vectors, labels = self.lists(), self.vectors(), self.material.data.labels
            stored = min(self.material.settings.stored, max(labels, 1))
            found, classifier = np.empty((len(lists), stored), dtype=np.int32), self.network.extreme.settled()
            for start in range(0, len(lists), ROWS_A_BLOCK):
                rows = slice(start, start + ROWS_A_BLOCK)
                top = TopK(lists[rows], classifier.scores(vectors[rows], lists[rows]))
                found[rows] = added([top], [1.0], labels, stored).ids
            self.material.held.pop("shortlists")
            return found

        return self._kept("ranked lists", make)

    def _kept(self, name: str, make: Callable[[], Made]) -> Made:
        """What `make` gives, made once; what another learner has left is dropped first."""
        held = self.material.held
        if held.get("learner") != self.number:
            held.clear()
            held["learner"] = self.number
        if name not in held:
            with self.material.work.phase(f"{self.name} {name}"):
                made = make()
            held[name] = made
        found: Made = held[name]
        return found


class SurrogatePhase(Phase):
    """Learns word vectors by telling the clusters of a row's labels from all clusters."""

    def __init__(self, learner: Learner, plan: Plan) -> None:
        material = learner.material
        super().__init__(f"{learner.name} surrogate", len(material.data), plan)
        self.learner, self.settings = learner, material.settings
        self.draw = BatchDrawer(material.data, material.mixes)
        self.reader = _Reader(learner.network.words, material.texts)
        self.every = np.arange(len(learner.network.surrogate.table.weight))

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        network, drop = self.learner.network, self.settings.dropout
        batch = self.draw(rows, random)
        vectors = self.reader.vectors(batch, random, drop)  # (batch, width)
        queries = network.surrogate.block(vectors, kept_cells(random, vectors.shape, drop))
        targets = batch.targets.of_groups(self.learner.clusters(), len(self.every))
        if self.settings.surrogate_targets == "binary":
            targets = replace(targets, values=np.ones_like(targets.values))
        return every_cluster_loss(queries, network.surrogate.table.rows(self.every), targets)


class ExtremePhase(Phase):
    """Learns a vector a label on frozen vectors of the texts, against shortlisted and random labels."""

    def __init__(self, learner: Learner, plan: Plan) -> None:
        material = learner.material
        super().__init__(f"{learner.name} extreme", len(material.data), plan)
        self.learner, self.settings = learner, material.settings
        self.draw = BatchDrawer(material.data)
        self.scorer = _CandidateScorer(learner.network.extreme, material)

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        learner, chosen = self.learner, self.settings
        lists = learner.lists()[rows]
        batch = self.draw(rows, random)
        drawn = self.scorer.drawn(random, len(rows), chosen.random_labels)
        vectors = torch.from_numpy(learner.vectors()[rows])
        kept = kept_cells(random, vectors.shape, chosen.dropout)
        return self.scorer.loss(vectors, kept, batch, lists, drawn, chosen.candidates, random)

    def watched(self) -> Mapping[str, float]:
        return self.learner.watched(reranks=False)


class RerankPhase(Phase):
    """Learns a second network on what the first one ranks highest."""

    def __init__(self, learner: Learner, plan: Plan) -> None:
        material, network = learner.material, learner.network
        assert network.rerank is not None
        assert network.rerank_words is not None
        super().__init__(f"{learner.name} rerank", len(material.data), plan)
        self.learner, self.settings = learner, material.settings
        self.draw = BatchDrawer(material.data, material.mixes)
        self.reader = _Reader(network.rerank_words, material.texts)
        self.scorer = _CandidateScorer(network.rerank, material)

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        lists = self.learner.ranked_lists()[rows]
        batch = self.draw(rows, random)
        vectors = self.reader.vectors(batch, random, self.settings.dropout)
        kept = kept_cells(random, vectors.shape, self.settings.dropout)
        none = np.empty((len(rows), 0), dtype=np.int32)
        size = lists.shape[1] + self.settings.positives
        return self.scorer.loss(vectors, kept, batch, lists, none, size, random)

    def watched(self) -> Mapping[str, float]:
        return self.learner.watched(reranks=True)


class _Reader:
    """Reads the texts of a batch with a table of word vectors."""

    def __init__(self, words: RowTable, texts: BagJoiner) -> None:
        self.words, self.texts = words, texts
        self._scratch = np.full(len(words.weight), -1, dtype=np.int32)

    def vectors(self, batch: DrawnBatch, random: np.random.Generator, drop: float) -> torch.Tensor:
        """(batch, width): coarse vectors under dropout."""
        words, (bags,) = share_words([self.texts.take(batch.rows, batch.appended)], self._scratch)
        summed = functional.relu(bag_sum(self.words.rows(words), bags))
        return summed * kept_cells(random, summed.shape, drop)


class _CandidateScorer:
    """The loss of a classifier over the candidates of each row."""

    def __init__(self, classifier: Classifier, material: Material) -> None:
        self.classifier, self.material = classifier, material
        self._carried = np.flatnonzero(material.targets.sum(axis=0) > 0).astype(np.int32)
        self._scratch = np.full(material.data.labels, -1, dtype=np.int32)

    def drawn(self, random: np.random.Generator, rows: int, count: int) -> np.ndarray:
        """(rows, count): labels at random, of those that some row carries."""
        if not len(self._carried):
            return np.empty((rows, 0), dtype=np.int32)
        return self._carried[random.integers(0, len(self._carried), (rows, count))]

    def loss(
        self,
        vectors: torch.Tensor,
        kept: torch.Tensor,
        batch: DrawnBatch,
        lists: np.ndarray,
        drawn: np.ndarray,
        size: int,
        random: np.random.Generator,
    ) -> torch.Tensor:
        data = self.material.data
        indptr, labels, targets = candidate_lists(
            batch.targets.starts,
            batch.targets.labels,
            batch.targets.values,
            random.random(len(batch.targets.labels)),
            self.material.settings.positives,
            lists,
            drawn,
            batch.targets.ignored_starts,
            batch.targets.ignored,
            size,
            data.labels,
        )
        distinct, places = number_locally(labels, self._scratch)
        queries = self.classifier.block(vectors, kept)
        table = self.classifier.table.rows(distinct)
        return candidate_loss(queries, table, Candidates(indptr, places, targets), data.weights[batch.rows])
