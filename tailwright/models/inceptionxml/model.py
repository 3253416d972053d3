"""`InceptionXml`: learners of an `InceptionEncoder` and a head over clusters and labels, or all labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.joined_tokens import TokenJoiner
from tailwright.encoders.reading import TokenReader
from tailwright.heads.label_groups import LabelGroups
from tailwright.models import models
from tailwright.models.inceptionxml import CARD, InceptionXmlSettings
from tailwright.models.inceptionxml.clusters import described_labels, learner_clusters
from tailwright.models.inceptionxml.network import Learners, answering, learner_network
from tailwright.models.inceptionxml.phases import SynchronisedPhase, shuffled_order
from tailwright.models.shared.memory import FLOAT, scoring_bytes, training_need
from tailwright.models.shared.texts import WordTexts, start_table
from tailwright.models.shared.token_model import TokenModel
from tailwright.models.shared.token_phase import TokenPhase
from tailwright.models.shared.validation import validator
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.streams import stream
from tailwright.training.hidden_door import HiddenDoor
from tailwright.training.memory import MemoryNeed
from tailwright.training.phases import Phase, Plan
from tailwright.training.watch import Watch
from tailwright.training.workplace import Workplace


@models.register
class InceptionXml(TokenModel):
    """Convolutions along word vectors, and one of two pipelines behind them."""

    card = CARD
    Settings = InceptionXmlSettings
    settings: InceptionXmlSettings
    texts: WordTexts
    network: Learners
    groups: dict[str, LabelGroups]  # by learner; none in the plain pipeline

    def build(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        chosen, labels = self.settings, len(corpus.labels)
        # Label texts too: a mix may append them to rows, and their words then need vectors.
        texts = pa.concat_arrays([corpus.train.texts, corpus.labels.texts])
        self.texts, _ = WordTexts.of(chosen.words, texts, seed=seed, work=work)
        self.groups = {}
        if chosen.pipeline == "plus":
            with work.phase("clusters"):
                described = described_labels(corpus.train, chosen.clusters, seed)
                for number, name in enumerate(self._names()):
                    own = learner_clusters(described, corpus, chosen.clusters, learner_seed(seed, number))
                    self.groups[name] = LabelGroups(own)
        self.network = Learners()
        for number, name in enumerate(self._names()):
            own_seed = learner_seed(seed, number)
            table = start_table(self.texts.words, chosen.words, own_seed)
            self.network[name] = learner_network(table, self.groups.get(name), labels, chosen, seed=own_seed)

    def _names(self) -> list[str]:
        return [f"learner-{number + 1}" for number in range(self.settings.learners)]

    def _rates(self, name: str) -> dict[str, float | None]:
        words = {} if self.settings.words.learn_words else {f"{name}.encoder.words": None}
        return {name: self.settings.rate, **words}

    def memory_need(self, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        """Learners are trained one after the other, so moments are those of one."""
        training, name = self.settings.training, self._names()[0]
        rows = min(training.micro_batch or training.batch, len(tokens))
        validates = corpus.valid is not None and len(corpus.valid) > 0
        batch = self.batch_bytes(rows, tokens)
        return training_need(self.network, self._rates(name), training, batch=batch, validates=validates)

    def batch_bytes(self, rows: int, tokens: TokenRows) -> float:
        """About 20 arrays of words x width a row, the vectors of candidates, and the table of clusters."""
        name, chosen = self._names()[0], self.settings
        encoder, head = self.network.learner(name).encoder, self.network.learner(name).head
        texts = 20 * rows * chosen.words.max_length * chosen.words.width
        groups = self.groups.get(name)
        if groups is None:
            return FLOAT * texts + scoring_bytes(rows, head.labels)
        listed = rows * min(chosen.top_clusters, groups.count) * groups.members.shape[1]
        scored = 4 * listed + 4 * min(listed, head.labels) * encoder.width
        return FLOAT * (texts + scored + 2 * groups.count * (rows + encoder.width))

    def phases(self, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace) -> Sequence[Phase]:
        joiner = TokenJoiner(tokens, self.texts.tokens(corpus.labels.texts), self.texts.max_length)
        mixes = self.batch_mixes(corpus, seed=seed, work=work)
        training = self.settings.training
        readers = {
            name: TokenReader(self.network.learner(name).encoder, tokens, joiner) for name in self._names()
        }
        points = next(iter(readers.values())).mix_points
        cuts = self.stretches(corpus, points, training, seed=seed, work=work)
        phases: list[Phase] = []
        for name, reader in readers.items():
            network, plan = self.network.learner(name), Plan.of(training, self._rates(name))
            answers = partial(answering, network, self.texts)
            for stretch in cuts:
                options: dict[str, Any] = {
                    "mixes": mixes,
                    "door": HiddenDoor(stretch.mixes),
                    "begin": stretch.begin,
                    "validate": validator(answers, corpus, training.metric),
                    "watch": Watch(self.watch, answers),
                }
                fixed = (
                    f"{self.card.name} {name}{stretch.name}",
                    network,
                    reader,
                    corpus.train,
                    plan.between(stretch.begin, stretch.end),
                )
                if name in self.groups:
                    phase = SynchronisedPhase(
                        *fixed, meta_epochs=self.settings.meta_epochs, work=work, **options
                    )
                    phases.append(phase)
                else:
                    phases.append(TokenPhase(*fixed, order=shuffled_order, **options))
        return phases

    def save(self, folder: FolderWriter) -> None:
        super().save(folder)
        for name, groups in self.groups.items():
            folder.array(f"{name}-clusters", groups.of_label)

    def rebuild(self, folder: FolderReader, labels: int) -> None:
        self.texts, table = WordTexts.load(folder, self.settings.words)
        self.groups, self.network = {}, Learners()
        for name in self._names():
            if self.settings.pipeline == "plus":
                self.groups[name] = loaded_groups(folder, f"{name}-clusters", labels)
            own = table.copy()
            self.network[name] = learner_network(own, self.groups.get(name), labels, self.settings, seed=0)


def loaded_groups(folder: FolderReader, name: str, labels: int) -> LabelGroups:
    """The groups that were saved as an array of that name."""
    of_label = folder.array(name, dtype=np.int32, shape=(labels,))
    try:
        return LabelGroups(of_label)
    except ValueError as error:
        raise DamagedFolderError(str(error), expected="clusters of labels", path=folder.path) from error


def learner_seed(seed: int, learner: int) -> int:
    """The seed of one learner of an ensemble."""
    return int(stream(seed, "inceptionxml/learner", learner).integers(2**31))
