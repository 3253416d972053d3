"""XML-CNN (Liu et al. 2017): convolutions over words, dynamic max pooling, a hidden bottleneck, all labels.

The baseline of the GDA and TailMix tables. Encoder: `tailwright.encoders.text_cnn`; one linear layer over the
bottleneck scores every label; binary cross-entropy over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.encoders.settings import TextCnnSettings, WordSettings
from tailwright.heads.shards import ShardSettings
from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.settings import TrainingSettings

CARD = ModelCard(
    name="xml-cnn",
    summary="convolutions over word vectors, dynamic max pooling, one layer over all labels",
    reads=("texts", "targets"),
    paper="Deep Learning for Extreme Multi-label Text Classification",
    doors=("rows", "hidden"),
    mix_points=("tokens", "embeddings", "output"),
    scores="log-odds",
    extra="deep",
)


@dataclass(frozen=True)
class XmlCnnSettings(Settings):
    """What can be set of xml-cnn."""

    words: WordSettings = setting(WordSettings(), "the words")
    cnn: TextCnnSettings = setting(TextCnnSettings(), "the encoder")
    head: ShardSettings = setting(ShardSettings(), "the head")
    start_bias: Literal["random", "zero", "log-odds"] = setting(
        "random", "what output biases start at: random, zero, or the log-odds of each label among the rows"
    )
    rate: float = setting(1e-3, "learning rate", above=0, most=1000)
    training: TrainingSettings = setting(TrainingSettings(), "how it is trained")
