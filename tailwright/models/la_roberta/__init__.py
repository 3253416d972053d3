"""LA-RoBERTa: each label attends to the tokens that a pretrained transformer reads, and scores what it found.

| `head` | a label's score comes from | of |
|---|---|---|
| `label-specific` | its own output vector and bias | GDA |
| `shared-mlp` | a small network that all labels share: a label is its attention alone | TailMix (LaRoBERTa) |

Attention reaches all tokens, the special ones too. Any encoder will do; configs/la-roberta-gda.toml and
configs/la-roberta-tailmix.toml have the settings of the papers, whose encoders are roberta-large and a frozen
roberta-base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.encoders.settings import TransformerSettings
from tailwright.models import ModelCard
from tailwright.models.roberta import TRAINING, StartSettings
from tailwright.settings import Settings, setting
from tailwright.training.settings import TrainingSettings

CARD = ModelCard(
    name="la-roberta",
    summary="a pretrained transformer, each label attends to its tokens",
    reads=("texts", "targets"),
    paper="On Data Augmentation for Extreme Multi-label Classification",
    doors=("rows", "hidden"),
    mix_points=("tokens", "embeddings", "layers", "output", "contexts", "hidden", "pairs"),
    scores="log-odds",
    extra="deep",
)


@dataclass(frozen=True)
class LaRobertaSettings(Settings):
    """What can be set; the one bias of a shared network starts at the log-odds of the mean label."""

    head: Literal["label-specific", "shared-mlp"] = setting(
        "label-specific", "label-specific: an output vector a label; shared-mlp: one network for all labels"
    )
    layers: tuple[int, ...] = setting(
        (256, 128), "sizes of the hidden layers of that network", least=1, most=65_536
    )
    transformer: TransformerSettings = setting(TransformerSettings(), "the encoder")
    start: StartSettings = setting(StartSettings(), "what the head starts from")
    training: TrainingSettings = setting(TRAINING, "how it is trained")

    def check(self) -> None:
        if not self.layers:
            raise ValueError("layers must be one or more sizes, got none")
        if self.start.start_labels == "texts" and self.head == "shared-mlp":
            raise ValueError("start_labels must be random with head shared-mlp, which has no output vectors")
