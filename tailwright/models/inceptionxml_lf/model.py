"""`InceptionXmlLf`: learners of a `RoutedEncoder` and a head whose label vectors are made of label texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.bags import Bags
from tailwright.encoders.joined_tokens import TokenJoiner
from tailwright.encoders.reading import TokenReader
from tailwright.heads.label_groups import LabelGroups
from tailwright.models import models
from tailwright.models.inceptionxml.clusters import described_labels, learner_clusters
from tailwright.models.inceptionxml.model import learner_seed, loaded_groups
from tailwright.models.inceptionxml.network import Learners, answering
from tailwright.models.inceptionxml.phases import SynchronisedPhase, nothing
from tailwright.models.inceptionxml_lf import CARD, InceptionXmlLfSettings
from tailwright.models.inceptionxml_lf.label_words import label_graph, label_words
from tailwright.models.inceptionxml_lf.network import TextualHead, learner_network
from tailwright.models.shared.memory import FLOAT, training_need
from tailwright.models.shared.texts import WordTexts, start_table
from tailwright.models.shared.token_model import TokenModel
from tailwright.models.shared.validation import validator
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.hidden_door import HiddenDoor
from tailwright.training.memory import MemoryNeed
from tailwright.training.phases import Phase, Plan
from tailwright.training.watch import Watch
from tailwright.training.workplace import Workplace


@models.register
class InceptionXmlLf(TokenModel):
    """InceptionXML+ with label vectors out of texts, neighbours and free vectors."""

    card = CARD
    Settings = InceptionXmlLfSettings
    settings: InceptionXmlLfSettings
    texts: WordTexts
    network: Learners
    label_words: sparse.csr_array  # (labels, word ids): the words of each label's text
    label_graph: sparse.csr_array  # (labels, labels): its neighbours

    def build(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        chosen = self.settings
        texts = pa.concat_arrays([corpus.train.texts, corpus.labels.texts])
        self.texts, _ = WordTexts.of(chosen.words, texts, seed=seed, work=work)
        with work.phase("label texts"):
            self.label_words = label_words(corpus, self.texts.words, chosen.words.min_count)
            self.label_graph = label_graph(corpus, chosen.graph, seed)
        with work.phase("clusters"):
            described = described_labels(corpus.train, chosen.clusters, seed)
            seeds = [learner_seed(seed, number) for number in range(chosen.learners)]
            groups = [LabelGroups(learner_clusters(described, corpus, chosen.clusters, own)) for own in seeds]
        self.network = self._learners(
            [start_table(self.texts.words, chosen.words, own) for own in seeds], groups, seeds
        )

    def _names(self) -> list[str]:
        return [f"learner-{number + 1}" for number in range(self.settings.learners)]

    def _learners(
        self, tables: Sequence[np.ndarray], groups: Sequence[LabelGroups], seeds: Sequence[int]
    ) -> Learners:
        texts, neighbours = Bags.of(self.label_words), Bags.of(self.label_graph)
        networks = Learners()
        for name, table, own, seed in zip(self._names(), tables, groups, seeds, strict=True):
            networks[name] = learner_network(table, own, texts, neighbours, self.settings, seed=seed)
        return networks

    def _head(self, name: str) -> TextualHead:
        head = self.network.learner(name).head
        assert isinstance(head, TextualHead)
        return head

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        super().learn(corpus, seed=seed, work=work)
        self._settle()

    def _settle(self) -> None:
        """Predict from here on with free vectors, and the clusters and label vectors of the weights."""
        for name in self._names():
            self._head(name).enter(free=True)
        self.network.eval()

    def _rates(self, name: str, *, free: bool) -> dict[str, float | None]:
        """The free vectors and the attention over them learn in the second phase, the other one before."""
        chosen, vectors = self.settings, f"{name}.head.vectors"
        rates: dict[str, float | None] = {name: chosen.free_rate if free else chosen.rate}
        if not chosen.words.learn_words:
            rates[f"{name}.encoder.words"] = None
        if free:
            return {**rates, f"{vectors}.attention": None}
        return {**rates, f"{vectors}.free": None, f"{vectors}.wider_attention": None}

    def memory_need(self, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        """Learners are trained one after the other, so moments are those of one in its second phase."""
        training, name = self.settings.training, self._names()[0]
        rows = min(training.micro_batch or training.batch, len(tokens))
        validates = corpus.valid is not None and len(corpus.valid) > 0
        batch, rates = self.batch_bytes(rows, tokens), self._rates(name, free=True)
        return training_need(self.network, rates, training, batch=batch, validates=validates)

    def batch_bytes(self, rows: int, tokens: TokenRows) -> float:
        """About 20 arrays of words x width a row, and 30 of the width of a vector for each candidate."""
        words, head = self.settings.words, self._head(self._names()[0])
        groups = head.groups
        texts = 20 * rows * words.max_length * words.width
        listed = rows * min(head.top, groups.count) * groups.members.shape[1]
        scored = 4 * listed + 30 * min(listed, head.labels) * words.width
        return FLOAT * (texts + scored + 2 * groups.count * (rows + head.meta.table.array.shape[1]))

    def phases(self, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace) -> Sequence[Phase]:
        chosen = self.settings
        joiner = TokenJoiner(tokens, self.texts.tokens(corpus.labels.texts), self.texts.max_length)
        mixes = self.batch_mixes(corpus, seed=seed, work=work)
        points = TokenReader(self.network.learner(self._names()[0]).encoder, tokens).mix_points
        trainings = {False: chosen.training, True: replace(chosen.training, epochs=chosen.free_epochs)}
        cuts = {
            free: self.stretches(corpus, points, training, seed=seed, work=work)
            for free, training in trainings.items()
        }
        return [
            SynchronisedPhase(
                f"{self.card.name} {name} {'free' if free else 'texts'}{stretch.name}",
                self.network.learner(name),
                TokenReader(self.network.learner(name).encoder, tokens, joiner),
                corpus.train,
                Plan.of(training, self._rates(name, free=free)).between(stretch.begin, stretch.end),
                enter=partial(self._head(name).enter, free=free),
                start=self._head(name).start_free if free else nothing,
                meta_epochs=chosen.meta_epochs,
                work=work,
                mixes=mixes,
                door=HiddenDoor(stretch.mixes),
                begin=stretch.begin,
                validate=validator(self._answering(name), corpus, training.metric),
                watch=Watch(self.watch, self._answering(name)),
            )
            for name in self._names()
            for free, training in trainings.items()
            for stretch in cuts[free]
        ]

    def _answering(self, name: str) -> partial:
        return partial(answering, self.network.learner(name), self.texts)

    def save(self, folder: FolderWriter) -> None:
        super().save(folder)
        folder.csr("label-words", self.label_words)
        folder.csr("label-graph", self.label_graph)
        for name in self._names():
            folder.array(f"{name}-clusters", self._head(name).groups.of_label)

    def rebuild(self, folder: FolderReader, labels: int) -> None:
        self.texts, table = WordTexts.load(folder, self.settings.words)
        words = self.texts.words.size
        self.label_words = folder.csr("label-words", dtype=np.float32, shape=(labels, words))
        self.label_graph = folder.csr("label-graph", dtype=np.float32, shape=(labels, labels))
        for matrix in (self.label_words, self.label_graph):
            if not bool(np.isfinite(matrix.data).all()):
                raise DamagedFolderError("a weight", expected="a finite number", path=folder.path)
        groups = [loaded_groups(folder, f"{name}-clusters", labels) for name in self._names()]
        self.network = self._learners([table.copy() for _ in groups], groups, [0] * len(groups))

    def load(self, folder: FolderReader, labels: int) -> None:
        super().load(folder, labels)
        for name in self._names():
            head = self._head(name)
            if not np.array_equal(head.of_label.numpy(), head.groups.of_label):
                raise DamagedFolderError("clusters", expected="those of the weights", path=folder.path)
        self._settle()
