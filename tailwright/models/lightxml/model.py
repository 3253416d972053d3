"""`LightXml`: a transformer and a `DenseHead`, or a `GroupedHead` for very many labels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.errors import InputError
from tailwright.heads.dense import DenseHead, Start
from tailwright.heads.label_groups import LabelGroups
from tailwright.models import Model, models
from tailwright.models.lightxml import CARD, LightXmlSettings, RetrainingSettings
from tailwright.models.lightxml.network import GroupedHead, label_groups
from tailwright.models.lightxml.retraining import retraining_stage
from tailwright.models.shared.f0 import fitted_f0, makers
from tailwright.models.shared.start import start_biases
from tailwright.models.shared.texts import Stage, TransformerTexts
from tailwright.models.shared.token_model import TokenModel
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.weights import put_weights, weights_of
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
        if self._retrains(corpus):
            self._build_on_f0(corpus, seed, work)
            return
        chosen, self.groups = self.settings, None
        if chosen.grouped(len(corpus.labels)):
            with work.phase("groups"):
                self.groups = LabelGroups(label_groups(corpus.train, chosen.top_groups, chosen.leaf, seed))
        self.texts = TransformerTexts.of(chosen.transformer, "first-of-five", self._features, work)
        encoder = self.texts.encoder
        head = self._head(len(corpus.labels), encoder.width, seed)
        self._start_biases(head, corpus)
        self.network = TokenNetwork(encoder, head, chosen.drop)

    def _build_on_f0(self, corpus: Corpus, seed: int, work: Workplace) -> None:
        """The groups and the frozen encoder of f0, under a new head."""
        f0, self.f0 = self.f0, None  # it is that of these rows alone
        if f0 is None:
            f0 = self.f0_for(makers(corpus.train))
            assert f0 is not None
            f0 = fitted_f0(f0, corpus, seed=seed, work=work)
        assert isinstance(f0, LightXml)
        chosen, self.groups = self.settings, f0.groups
        frozen = replace(chosen.transformer, frozen=True, head_epochs=0)
        self.texts = TransformerTexts(f0.texts.encoder, frozen, self._features)
        encoder = self.texts.encoder
        # The authors' code draws weights as `xavier` does, and biases from N(0, 1); here `start_bias` counts.
        head = self._head(len(corpus.labels), encoder.width, seed, "lightxml/retraining", "xavier")
        if chosen.retraining.start == "reinit":
            self._start_biases(head, corpus)
        else:
            put_weights(head, weights_of(f0.network.head))
        self.network = TokenNetwork(encoder, head, chosen.drop)

    def _retrains(self, corpus: Corpus) -> bool:
        originals = len(corpus.train.originals())
        return originals > 0 and self.settings.retraining.retrains(makers(corpus.train))

    def f0_for(self, made_by: Collection[str]) -> Model | None:
        if not self.settings.retraining.retrains(made_by):
            return None
        for mix in self.mixes:
            if "output" not in mix.card.mix_points:
                points = ", ".join(mix.card.mix_points)
                raise InputError(
                    f"{mix.card.name} mixes at {points}, and the retraining at output",
                    expected="retrain=off, or a method that mixes there",
                )
        f0 = LightXml(replace(self.settings, retraining=RetrainingSettings()))
        f0.device, f0.watch = self.device, self.watch
        return f0

    def stages(self, corpus: Corpus) -> list[Stage]:
        if self._retrains(corpus):
            return [retraining_stage(self.settings, corpus.train)]
        return super().stages(corpus)

    def _head(
        self, labels: int, width: int, seed: int, name: str = "lightxml", start: Start = "fan-in"
    ) -> DenseHead | GroupedHead:
        if self.groups is None:
            return DenseHead(labels, width, seed=seed, name=f"{name}/head", start=start)
        return GroupedHead(self.groups, width, self.settings, seed=seed, name=name)

    def _start_biases(self, head: DenseHead | GroupedHead, corpus: Corpus) -> None:
        start = self.settings.start_bias
        if isinstance(head, DenseHead):
            start_biases(head.bias, start, corpus)
            return
        groups = head.groups
        of_groups = BatchTargets.of(corpus.train.originals()).of_groups(groups.of_label, groups.count)
        counts = np.bincount(of_groups.labels, minlength=groups.count)
        start_biases(head.recall.bias, start, corpus, counts)

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
