"""ASTEC: word vectors learnt by a task over clusters of labels, shortlists by search, a classifier on them.

After the paper "DeepXML: a deep extreme multi-label learning framework applied to short text documents" and
its published code. A learner is trained in phases (`_astec_phases`):

1. Surrogate. Labels are clustered by the texts of their rows; a text is the sum of its words' vectors, and a
   one-versus-all classifier over the clusters teaches those vectors.
2. Shortlists. With the vectors frozen, each text is listed the labels whose centroids are near to it, and
   those that training rows near to it carry.
3. Extreme. A classifier over labels learns on positives, shortlists and labels at random.
4. Rerank. A second network, words included, learns on what the classifier ranks highest.

The answer is a weighted sum of the classifier's chances and of those of similarity; several learners are
added up. Labels that no training row carries are never predicted: labels without rows need an augmentation
that gives them one (gandalf). Validation rows are not looked at: the last epoch counts, as in the paper.

The settings of `benchmarks/bench_astec.py --quick` (4,096 clusters, 8 + 5 + 5 epochs, lists of 200) gave on
winapi-seealso, seed 0, P@1 / PSP@5: 70.3 / 48.2 plain, 71.9 / 62.4 with gandalf. Their rates were chosen by
plain runs, on a part of these test rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import arrow_strings
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
from tailwright.evaluation.ranking import TopK
from tailwright.labels.vectors import unit_rows
from tailwright.models import Model, ModelCard, models
from tailwright.models.astec.settings import AstecSettings, memory_need
from tailwright.progress import progress
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    from tailwright.encoders.bags import Bags
    from tailwright.models.astec.learner import FittedLearner, Reader
    from tailwright.models.astec.phases import Material

ROWS_A_BLOCK = 4096


@models.register
class Astec(Model):
    """Shortlists by similarity, reranked by classifiers over labels."""

    card = ModelCard(
        name="astec",
        summary="word vectors learnt on clusters of labels, shortlists by search, classifiers on those",
        reads=("texts", "targets", "label texts"),
        paper="DeepXML: A Deep Extreme Multi-Label Learning Framework Applied to Short Text Documents",
        doors=("rows", "batch"),
    )
    Settings = AstecSettings

    features: TfIdf
    rows: sparse.csr_array  # (training rows, words): what shortlists search among
    targets: sparse.csr_array  # (training rows, labels): targets times row weights
    seed: int
    learners: list[FittedLearner]

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        from tailwright.data.text.word_vectors import word_vectors
        from tailwright.models.astec.clusters import cluster_count, learner_seed
        from tailwright.models.astec.learner import FittedLearner
        from tailwright.models.astec.network import AstecNetwork
        from tailwright.models.astec.phases import Learner
        from tailwright.training.loop import run_phases
        from tailwright.training.threads import torch_threads

        chosen: AstecSettings = self.settings
        material = self._material(corpus, seed, work)
        clusters = cluster_count(int(np.count_nonzero(corpus.labels.counts)), chosen.clusters)
        need = memory_need(material.matrix, material.targets, clusters, chosen)
        work.log("memory", expected_peak_mb=round(need.peak_mb(), 1))
        need.require("a smaller width (--set width=100) or a higher --set min_count needs less")
        learners = []
        for number in range(chosen.learners):
            own = learner_seed(seed, number)
            vectors = word_vectors(self.features.vocabulary, chosen.width, chosen.vectors, seed=own)
            network = AstecNetwork.new(vectors, clusters, len(corpus.labels), reranks=chosen.rerank, seed=own)
            learners.append(Learner(material, network, number, own))
        parts = {name: part for one in learners for name, part in one.network.parts(one.name).items()}
        with torch_threads():
            run_phases(parts, [phase for one in learners for phase in one.phases()], seed=seed, work=work)
            material.held.clear()
            self.rows, self.targets, self.seed = material.matrix, material.targets, seed
            self._settle([FittedLearner.readers(one.network) for one in learners])

    def _settle(self, readers: Sequence[tuple[Reader, Reader | None]]) -> None:
        """Make the learners that read with these, and list labels by the training rows."""
        from tailwright.encoders.bags import Bags
        from tailwright.models.astec.clusters import learner_seed
        from tailwright.models.astec.learner import FittedLearner

        bags = Bags.of(self.rows)
        self.learners = [
            FittedLearner.of(*pair, bags, self.targets, self.settings, learner_seed(self.seed, number))
            for number, pair in enumerate(readers)
        ]

    def _material(self, corpus: Corpus, seed: int, work: Workplace) -> Material:
        """The rows that have words, labels and weight, as all learners read them."""
        from tailwright.encoders.bags import Bags
        from tailwright.encoders.joined_bags import BagJoiner
        from tailwright.models.astec.phases import Material

        with work.phase("features"):
            # Label texts too, for a mix may put them behind rows, and their words then need vectors.
            texts = pa.concat_arrays([corpus.train.texts, corpus.labels.texts])
            settings = TfIdfSettings(min_count=self.settings.min_count)
            self.features, every = TfIdf.fit_transform(texts, settings)
            matrix, label_matrix = every[: len(corpus.train)], every[len(corpus.train) :]
            targets = corpus.train.weighted_targets()
            kept = np.flatnonzero((np.diff(matrix.indptr) > 0) & (np.diff(targets.indptr) > 0))
            data, matrix, targets = corpus.train.take(kept), matrix[kept], targets[kept]
        mixes = []
        for mix in self.mixes:
            with work.phase(mix.card.name):
                mixes.append(mix.prepare(corpus, seed=seed))
        kinds = np.array([0, len(self.features.vocabulary)], dtype=np.int64)
        joiner = BagJoiner(Bags.of(matrix), Bags.of(label_matrix), self.features.idf, kinds)
        return Material(data, matrix, joiner, targets, mixes, self.settings, work, self._bags, self.watch)

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        from tailwright.heads.shortlist import added

        labels = int(self.targets.shape[1])
        found = [TopK(np.empty((0, k), dtype=np.int32), np.empty((0, k), dtype=np.float32))]
        for bags in self._read(arrow_strings(texts)):
            answers = [learner.answer(bags) for learner in self.learners]
            found.append(added(answers, [1.0] * len(answers), labels, k))
        return TopK.concat(found)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        """The vectors that shortlists are found by; those of several learners stand side by side."""
        from tailwright.models.astec.network import coarse_vectors

        found = [np.empty((0, self.settings.width * len(self.learners)), dtype=np.float32)]
        for bags in self._read(arrow_strings(texts)):
            each = [unit_rows(coarse_vectors(bags, learner.first.words)) for learner in self.learners]
            found.append(unit_rows(np.concatenate(each, axis=1)))
        return np.concatenate(found)

    def _read(self, rows: pa.LargeStringArray) -> Iterator[Bags]:
        """Blocks of texts as words."""
        from tailwright.training.threads import torch_threads

        with torch_threads(), progress("astec", len(rows)) as advance:
            for start in range(0, len(rows), ROWS_A_BLOCK):
                bags = self._bags(rows.slice(start, ROWS_A_BLOCK))
                yield bags
                advance(len(bags))

    def _bags(self, texts: pa.LargeStringArray) -> Bags:
        from tailwright.encoders.bags import Bags

        return Bags.of(self.features.transform(texts))

    def save(self, folder: FolderWriter) -> None:
        self.features.save(folder.sub("features"))
        folder.json("astec.json", {"seed": self.seed})
        folder.csr("rows", self.rows)
        folder.csr("targets", self.targets)
        for number, learner in enumerate(self.learners):
            learner.save(folder.sub(f"learner-{number + 1}"))

    def load(self, folder: FolderReader, labels: int) -> None:
        from tailwright.models.astec.learner import Reader
        from tailwright.training.threads import torch_threads

        chosen: AstecSettings = self.settings
        self.features = TfIdf.load(folder.sub("features"))
        words = len(self.features.vocabulary)
        self.rows = folder.csr("rows", dtype=np.float32, shape=(None, words))
        self.targets = folder.csr("targets", dtype=np.float32, shape=(self.rows.shape[0], labels))
        for name, part in (("rows", self.rows), ("targets", self.targets)):
            if not bool(np.isfinite(part.data).all() and (part.data > 0).all()):
                raise DamagedFolderError(f"{name} hold a number", expected="numbers > 0", path=folder.path)
        self.seed = folder.json("astec.json").get("seed")
        if type(self.seed) is not int:
            raise DamagedFolderError("a seed", expected="a whole number", path=folder.path / "astec.json")
        readers = []
        for number in range(chosen.learners):
            inside = folder.sub(f"learner-{number + 1}")
            first = Reader.load(inside, "first", words, labels, chosen.width)
            second = Reader.load(inside, "second", words, labels, chosen.width) if chosen.rerank else None
            readers.append((first, second))
        with torch_threads():
            self._settle(readers)
