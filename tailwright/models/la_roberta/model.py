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
from typing import TYPE_CHECKING, ClassVar, Literal

from tailwright.models import ModelCard, models
from tailwright.models.roberta.model import RobertaSettings
from tailwright.models.shared.encoder_model import EncoderModel

if TYPE_CHECKING:
    from tailwright.data.corpus import Corpus
    from tailwright.encoders.transformer import Kind
    from tailwright.models.shared.text_network import FlatNetwork
    from tailwright.models.shared.text_output import AttendedOutput
    from tailwright.training.workplace import Workplace


@dataclass(frozen=True)
class LaRobertaSettings(RobertaSettings):
    """What can be set, besides `RobertaSettings`.

    | setting | meaning |
    |---|---|
    | `head` | `label-specific`: an output vector a label; `shared-mlp`: one network for all labels |
    | `layers` | sizes of the hidden layers of that network |

    The one output bias of a shared network starts at the log-odds of the mean label.
    """

    head: Literal["label-specific", "shared-mlp"] = "label-specific"
    layers: tuple[int, ...] = (256, 128)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head not in ("label-specific", "shared-mlp"):
            raise ValueError(f"head must be label-specific or shared-mlp, got {self.head!r}")
        if not self.layers or min(self.layers) < 1:
            raise ValueError(f"layers must be one or more sizes >= 1, got {list(self.layers)}")
        if self.start_labels == "texts" and self.head == "shared-mlp":
            raise ValueError("start_labels must be random with head shared-mlp, which has no output vectors")


@models.register
class LaRoberta(EncoderModel):
    """Label attention over the tokens of a transformer."""

    card = ModelCard(
        name="la-roberta",
        summary="a pretrained transformer, each label attends to its tokens",
        reads=("texts", "targets"),
        paper="On Data Augmentation for Extreme Multi-label Classification",
        scores="log-odds",
    )
    Settings = LaRobertaSettings
    settings: LaRobertaSettings
    kind: ClassVar[Kind] = "tokens"

    def new_network(self, corpus: Corpus, *, seed: int, work: Workplace) -> FlatNetwork:
        from tailwright.models.shared.start_bias import put_start_bias
        from tailwright.models.shared.start_labels import put_label_texts

        chosen = self.settings
        network = super().new_network(corpus, seed=seed, work=work)
        parts = network.parts()
        bias = "head.bias" if chosen.head == "label-specific" else f"head.bias-{len(chosen.layers)}"
        put_start_bias(parts, bias, chosen.start_bias, corpus)
        if chosen.start_labels == "texts":
            put_label_texts(parts, "head.outputs", self.encoder, corpus.labels.texts, chosen.start_norm)
        return network

    def output(self, labels: int, width: int, seed: int) -> AttendedOutput:
        from tailwright.heads.label_specific import LabelSpecificHead
        from tailwright.heads.shared_mlp import SharedMlpHead
        from tailwright.models.shared.text_output import AttendedOutput

        name = "la-roberta/head"
        if self.settings.head == "label-specific":
            return AttendedOutput(LabelSpecificHead.new(labels, width, seed, name))
        return AttendedOutput(SharedMlpHead.new(labels, width, self.settings.layers, seed, name))
