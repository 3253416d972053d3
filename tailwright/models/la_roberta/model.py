"""`LaRoberta`: a transformer and a head of label attention over its tokens."""

from __future__ import annotations

from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.heads.label_specific import LabelSpecificHead
from tailwright.heads.shared_mlp import SharedMlpHead
from tailwright.models import models
from tailwright.models.la_roberta import CARD, LaRobertaSettings
from tailwright.models.shared.start import start_at_label_texts, start_biases
from tailwright.models.shared.texts import TransformerTexts
from tailwright.models.shared.token_model import TokenModel
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.store import FolderReader
from tailwright.training.workplace import Workplace


@models.register
class LaRoberta(TokenModel):
    """Label attention over the tokens of a transformer."""

    card = CARD
    Settings = LaRobertaSettings
    settings: LaRobertaSettings
    texts: TransformerTexts

    def build(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        chosen, start = self.settings.transformer, self.settings.start
        self.texts = TransformerTexts.of(chosen, "tokens", self._features, work)
        encoder = self.texts.encoder
        head = self._head(len(corpus.labels), encoder.width, seed)
        bias = head.bias if isinstance(head, LabelSpecificHead) else head.layers[-1].bias
        start_biases(bias, start.start_bias, corpus)
        if start.start_labels == "texts" and isinstance(head, LabelSpecificHead):
            start_at_label_texts(head.outputs, encoder, corpus.labels, start.start_norm)
        self.network = TokenNetwork(encoder, head)

    def rebuild(self, folder: FolderReader, labels: int) -> None:
        self.texts = TransformerTexts.load(folder, self.settings.transformer)
        encoder = self.texts.encoder
        self.network = TokenNetwork(encoder, self._head(labels, encoder.width, 0))

    def _head(self, labels: int, width: int, seed: int) -> LabelSpecificHead | SharedMlpHead:
        chosen, name = self.settings, "la-roberta/head"
        if chosen.head == "label-specific":
            return LabelSpecificHead(labels, width, seed=seed, name=name)
        return SharedMlpHead(labels, width, chosen.layers, seed=seed, name=name)

    def batch_bytes(self, rows: int, tokens: TokenRows) -> float:
        return self.texts.batch_bytes(rows, tokens, self.network.head.labels)
