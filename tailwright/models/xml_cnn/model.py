"""XML-CNN (Liu et al. 2017): convolutions over words, dynamic max pooling, a hidden bottleneck, all labels.

The baseline of the GDA and TailMix tables. Encoder: `tailwright.encoders.text_cnn`; one linear layer over the
bottleneck scores every label; binary cross-entropy over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailwright.models import ModelCard, models
from tailwright.models.shared.word_model import WordModel
from tailwright.models.shared.word_settings import WordSettings

if TYPE_CHECKING:
    import numpy as np

    from tailwright.data.text.sequences import TokenRows
    from tailwright.encoders.text_cnn import TextCnn, TextCnnSettings
    from tailwright.models.shared.text_output import DenseOutput

FLOAT = 4  # bytes


@dataclass(frozen=True)
class XmlCnnSettings(WordSettings):
    """What can be set, besides `WordSettings`.

    | setting | meaning |
    |---|---|
    | `widths`, `filters` | words that filters span, and filters of each span |
    | `chunks` | runs of a text of which the largest value is kept |
    | `bottleneck` | width of the hidden layer |
    | `drop_words`, `drop_hidden` | dropout on word vectors, and on the hidden layer |
    """

    widths: tuple[int, ...] = (2, 4, 8)
    filters: int = 128
    chunks: int = 8
    bottleneck: int = 512
    drop_words: float = 0.25
    drop_hidden: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.encoder()

    def encoder(self) -> TextCnnSettings:
        """The size of the encoder."""
        from tailwright.encoders.text_cnn import TextCnnSettings

        return TextCnnSettings(
            self.widths, self.filters, self.chunks, self.bottleneck, self.drop_words, self.drop_hidden
        )


@models.register
class XmlCnn(WordModel):
    """A convolutional network over words."""

    card = ModelCard(
        name="xml-cnn",
        summary="convolutions over word vectors, dynamic max pooling, one layer over all labels",
        reads=("texts", "targets"),
        paper="Deep Learning for Extreme Multi-label Text Classification",
        scores="log-odds",
    )
    Settings = XmlCnnSettings
    settings: XmlCnnSettings

    def encoder(self, table: np.ndarray, seed: int) -> TextCnn:
        from tailwright.encoders.text_cnn import TextCnn

        return TextCnn(table, self.settings.encoder(), seed=seed)

    def output(self, labels: int, width: int, seed: int) -> DenseOutput:
        from tailwright.heads.dense_scores import DenseHead
        from tailwright.models.shared.text_output import DenseOutput

        return DenseOutput(DenseHead.new(labels, width, seed, "xml-cnn/head", "fan-in"))

    def batch_bytes(self, rows: int, tokens: TokenRows, labels: int) -> float:
        chosen, longest = self.settings, int(tokens.lengths.max(initial=0))
        filters = chosen.filters * len(chosen.widths)
        return rows * FLOAT * (4 * longest * chosen.width + 6 * longest * filters + 2 * labels)
