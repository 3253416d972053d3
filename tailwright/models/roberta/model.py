"""RoBERTa as GDA has it: one linear layer over the first token's last state scores all labels.

Any encoder will do (`encoder`); the paper's is roberta-large, and configs/roberta-gda.toml has its settings.
The baseline of the GDA paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from tailwright.models import ModelCard, models
from tailwright.models.shared.encoder_model import EncoderModel
from tailwright.models.shared.encoder_settings import EncoderSettings

if TYPE_CHECKING:
    from tailwright.data.corpus import Corpus
    from tailwright.encoders.transformer import Kind
    from tailwright.models.shared.text_network import FlatNetwork
    from tailwright.models.shared.text_output import DenseOutput
    from tailwright.training.workplace import Workplace


@dataclass(frozen=True)
class RobertaSettings(EncoderSettings):
    """What can be set, besides `EncoderSettings`.

    | setting | meaning |
    |---|---|
    | `start_bias` | what output biases start at: the `log-odds` of each label among the rows, or `zero` |
    | `start_labels` | what output vectors start at: `random`, or the encoder's reading of label `texts` |
    | `start_norm` | how long these vectors of texts are |
    """

    schedule: Literal["constant", "linear", "cosine", "step"] = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.01
    clip: Literal["adaptive"] | float | None = 1.0
    start_bias: Literal["zero", "log-odds"] = "log-odds"
    start_labels: Literal["random", "texts"] = "random"
    start_norm: float = 8.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start_bias not in ("zero", "log-odds"):
            raise ValueError(f"start_bias must be zero or log-odds, got {self.start_bias!r}")
        if self.start_labels not in ("random", "texts"):
            raise ValueError(f"start_labels must be random or texts, got {self.start_labels!r}")
        if not self.start_norm > 0:
            raise ValueError(f"start_norm must be > 0, got {self.start_norm}")


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
    settings: RobertaSettings
    kind: ClassVar[Kind] = "first"

    def new_network(self, corpus: Corpus, *, seed: int, work: Workplace) -> FlatNetwork:
        from tailwright.models.shared.start_bias import put_start_bias
        from tailwright.models.shared.start_labels import put_label_texts

        chosen = self.settings
        network = super().new_network(corpus, seed=seed, work=work)
        parts = network.parts()
        put_start_bias(parts, "head.bias", chosen.start_bias, corpus)
        if chosen.start_labels == "texts":
            put_label_texts(parts, "head.weight", self.encoder, corpus.labels.texts, chosen.start_norm)
        return network

    def output(self, labels: int, width: int, seed: int) -> DenseOutput:
        from tailwright.heads.dense_scores import DenseHead
        from tailwright.models.shared.text_output import DenseOutput

        return DenseOutput(DenseHead.new(labels, width, seed, "roberta/head"))
