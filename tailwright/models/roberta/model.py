"""`Roberta`: a transformer and a `DenseHead` over its first token."""

from __future__ import annotations

from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.errors import InputError
from tailwright.heads.dense import DenseHead
from tailwright.models import models
from tailwright.models.roberta import CARD, RobertaSettings
from tailwright.models.shared.dense_heads import dense_head
from tailwright.models.shared.start import start_at_label_texts
from tailwright.models.shared.texts import TransformerTexts
from tailwright.models.shared.token_model import TokenModel
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.store import FolderReader
from tailwright.training.workplace import Workplace


@models.register
class Roberta(TokenModel):
    """A linear layer over the first token."""

    card = CARD
    Settings = RobertaSettings
    settings: RobertaSettings
    texts: TransformerTexts

    def build(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        chosen, start = self.settings.transformer, self.settings.start
        self.texts = TransformerTexts.of(chosen, "first", self._features, work)
        encoder = self.texts.encoder
        sharded = self.settings.head.sharded
        head = dense_head(
            self,
            corpus,
            encoder.width,
            sharded=sharded,
            bias=start.start_bias,
            seed=seed,
            name="roberta/head",
        )
        if start.start_labels == "texts":
            if sharded:
                raise InputError("start_labels=texts with a sharded head", expected="head.sharded=false")
            start_at_label_texts(head.weight, encoder, corpus.labels, start.start_norm)
        self.network = TokenNetwork(encoder, head)

    def rebuild(self, folder: FolderReader, labels: int) -> None:
        self.texts = TransformerTexts.load(folder, self.settings.transformer)
        encoder = self.texts.encoder
        self.network = TokenNetwork(encoder, DenseHead(labels, encoder.width, seed=0, name="roberta/head"))

    def batch_bytes(self, rows: int, tokens: TokenRows) -> float:
        return self.texts.batch_bytes(rows, tokens, len(self.network.head.weight))
