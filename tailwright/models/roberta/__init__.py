"""RoBERTa as GDA has it: one linear layer over the first token's last state scores all labels.

Any encoder will do (`encoder`); the paper's is roberta-large, and configs/roberta-gda.toml has its settings.
The baseline of the GDA paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.encoders.settings import TransformerSettings
from tailwright.heads.shards import ShardSettings
from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.settings import TrainingSettings

CARD = ModelCard(
    name="roberta",
    summary="a pretrained transformer, one layer over its first token's state",
    reads=("texts", "targets"),
    paper="On Data Augmentation for Extreme Multi-label Classification",
    doors=("rows", "hidden"),
    mix_points=("tokens", "embeddings", "layers", "output"),
    scores="log-odds",
    extra="deep",
)


@dataclass(frozen=True)
class StartSettings(Settings):
    """What the head starts from."""

    start_bias: Literal["zero", "log-odds"] = setting(
        "log-odds", "what output biases start at: the log-odds of each label among the rows, or zero"
    )
    start_labels: Literal["random", "texts"] = setting(
        "random", "what output vectors start at: random, or the encoder's reading of label texts"
    )
    start_norm: float = setting(8.0, "length of these vectors of texts", above=0)


TRAINING = TrainingSettings(schedule="linear", warmup=0.06, weight_decay=0.01, clip=1.0)


@dataclass(frozen=True)
class RobertaSettings(Settings):
    """What can be set of roberta."""

    transformer: TransformerSettings = setting(TransformerSettings(), "the encoder")
    head: ShardSettings = setting(ShardSettings(), "the head")
    start: StartSettings = setting(StartSettings(), "what the head starts from")
    training: TrainingSettings = setting(TRAINING, "how it is trained")
