"""`XmlCnn`: a `TextCnn` and a `DenseHead`."""

from __future__ import annotations

from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.text_cnn import TextCnn
from tailwright.heads.dense import DenseHead
from tailwright.models import models
from tailwright.models.shared.dense_heads import dense_head
from tailwright.models.shared.memory import FLOAT
from tailwright.models.shared.texts import WordTexts
from tailwright.models.shared.token_model import TokenModel
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.models.xml_cnn import CARD, XmlCnnSettings
from tailwright.store import FolderReader
from tailwright.training.workplace import Workplace


@models.register
class XmlCnn(TokenModel):
    """A convolutional network over words."""

    card = CARD
    Settings = XmlCnnSettings
    settings: XmlCnnSettings

    def build(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        self.texts, table = WordTexts.of(self.settings.words, corpus.train.texts, seed=seed, work=work)
        encoder = TextCnn(table, self.settings.cnn, seed=seed)
        head = dense_head(
            self,
            corpus,
            encoder.width,
            sharded=self.settings.head.sharded,
            bias=self.settings.start_bias,
            seed=seed,
            name="xml-cnn/head",
        )
        self.network = TokenNetwork(encoder, head)

    def rebuild(self, folder: FolderReader, labels: int) -> None:
        self.texts, table = WordTexts.load(folder, self.settings.words)
        encoder = TextCnn(table, self.settings.cnn, seed=0)
        self.network = TokenNetwork(encoder, DenseHead(labels, encoder.width, seed=0, name="xml-cnn/head"))

    def batch_bytes(self, rows: int, tokens: TokenRows) -> float:
        cnn, longest = self.settings.cnn, int(tokens.lengths.max(initial=0))
        filters, labels = cnn.filters * len(cnn.widths), len(self.network.head.weight)
        width = self.settings.words.width
        return rows * FLOAT * (4 * longest * width + 6 * longest * filters + 2 * labels)
