"""`LightXml`: a transformer and a `DenseHead`, or a `GroupedHead` for very many labels."""

from __future__ import annotations

import numpy as np

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.heads.dense import DenseHead
from tailwright.models import models
from tailwright.models.lightxml import CARD, LightXmlSettings
from tailwright.models.lightxml.network import GroupedHead, LabelGroups, label_groups
from tailwright.models.shared.start import start_biases
from tailwright.models.shared.texts import TransformerTexts
from tailwright.models.shared.token_model import TokenModel
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.workplace import Workplace


@models.register
class LightXml(TokenModel):
    """Five states of the first token; in groups, a label that no row teaches is never predicted."""

    card = CARD
    Settings = LightXmlSettings
    settings: LightXmlSettings
    texts: TransformerTexts
    groups: LabelGroups | None

    def build(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        chosen, self.groups = self.settings, None
        if chosen.grouped(len(corpus.labels)):
            with work.phase("groups"):
                self.groups = LabelGroups(label_groups(corpus.train, chosen.top_groups, chosen.leaf, seed))
        self.texts = TransformerTexts.of(chosen.transformer, "first-of-five", self._features, work)
        encoder = self.texts.encoder
        head = self._head(len(corpus.labels), encoder.width, seed)
        if isinstance(head, GroupedHead):
            groups = head.groups
            of_groups = BatchTargets.of(corpus.train.originals()).of_groups(groups.of_label, groups.count)
            counts = np.bincount(of_groups.labels, minlength=groups.count)
            start_biases(head.recall.bias, chosen.start_bias, corpus, counts)
        else:
            start_biases(head.bias, chosen.start_bias, corpus)
        self.network = TokenNetwork(encoder, head, chosen.drop)

    def _head(self, labels: int, width: int, seed: int) -> DenseHead | GroupedHead:
        if self.groups is None:
            return DenseHead(labels, width, seed=seed, name="lightxml/head")
        return GroupedHead(self.groups, width, self.settings, seed=seed)

    def batch_bytes(self, rows: int, tokens: TokenRows) -> float:
        return self.texts.batch_bytes(rows, tokens, self.network.head.labels)

    def save(self, folder: FolderWriter) -> None:
        super().save(folder)
        if self.groups is not None:
            folder.array("groups", self.groups.of_label)

    def rebuild(self, folder: FolderReader, labels: int) -> None:
        self.groups = None
        if self.settings.grouped(labels):
            of_label = folder.array("groups", dtype=np.int32, shape=(labels,))
            try:
                self.groups = LabelGroups(of_label)
            except ValueError as error:
                path = folder.path / "groups.npy"
                raise DamagedFolderError(f"{error}", expected="groups of labels", path=path) from error
        self.texts = TransformerTexts.load(folder, self.settings.transformer)
        encoder = self.texts.encoder
        self.network = TokenNetwork(encoder, self._head(labels, encoder.width, 0), self.settings.drop)
