"""RoBERTa as GDA has it: one linear layer over the first token's last state scores all labels.

Any encoder will do (`encoder`); the paper's is roberta-large. The baseline of the GDA paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tailwright.models import ModelCard, models
from tailwright.models._encoder_model import EncoderModel
from tailwright.models._encoder_settings import EncoderSettings

if TYPE_CHECKING:
    from tailwright.encoders.transformer import Kind
    from tailwright.models._text_output import DenseOutput


@dataclass(frozen=True)
class RobertaSettings(EncoderSettings):
    """What can be set: `EncoderSettings`."""


@models.register
class Roberta(EncoderModel):
    """A linear layer over the first token."""

    card = ModelCard(
        name="roberta",
        summary="a pretrained transformer, one layer over its first token's state",
        reads=("texts", "targets"),
        paper="On Data Augmentation for Extreme Multi-label Classification",
        scores="log-odds",
    )
    Settings = RobertaSettings
    kind: ClassVar[Kind] = "first"

    def output(self, labels: int, width: int, seed: int) -> DenseOutput:
        from tailwright.heads.dense_scores import DenseHead
        from tailwright.models._text_output import DenseOutput

        return DenseOutput(DenseHead.new(labels, width, seed, "roberta/head"))
