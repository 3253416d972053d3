"""LightXML: the first token's states of the last five layers, and labels scored flat or in groups.

After "LightXML: Transformer with Dynamic Negative Sampling for High-Performance Extreme Multi-label Text
Classification", whose flat form is also the classifier of XDA. The feature of a text is five states side by
side, half of it dropped in training.

| form | output |
|---|---|
| flat | one linear layer over all labels |
| grouped | a linear layer over groups of labels, then vectors of the labels in the best groups |

`_lightxml_output` has the grouped form. The paper's settings are in configs/lightxml-flat.toml and
configs/lightxml-grouped.toml. The defaults differ where few epochs on a CPU ask for it: the output learns
faster than the encoder, rates fall to zero instead of weights being averaged, and `epsilon` is 1e-8. With the
paper's 1e-6 and a loss that is a mean over all labels, the slopes of a rare label are below it, so that label
hardly moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.models import ModelCard, models
from tailwright.models.shared.encoder_model import EncoderModel
from tailwright.models.shared.encoder_settings import EncoderSettings
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    from tailwright.encoders.transformer import Kind
    from tailwright.models.lightxml.groups import LabelGroups
    from tailwright.models.shared.text_network import FlatNetwork
    from tailwright.models.shared.text_output import Output

# With bert-base a label of the flat layer is 5 x 768 + 1 weights: so many labels are 126 million, more than
# the 110 million of the encoder, and every step passes over all of them. In training each is held six times
# (weight, gradient, two moments, average, best): 3 GB, and half of it with minilm.
FLAT_MOST = 1 << 15


@dataclass(frozen=True)
class LightXmlSettings(EncoderSettings):
    """What can be set, besides `EncoderSettings`.

    | setting | meaning |
    |---|---|
    | `groups` | `flat`, `grouped`, or `auto`: grouped above 32,768 labels |
    | `drop` | dropout on the feature of a text |
    | `top_groups` | grouped: groups whose labels a text is scored against |
    | `hidden` | grouped: width of label vectors |
    | `leaf` | grouped: most labels of a group; none: what makes for the fewest scores |
    | `kept` | grouped: most labels of an answer |
    """

    schedule: Literal["constant", "linear", "cosine", "step"] = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.01
    average_counted: Literal["phase", "epoch"] = "epoch"
    groups: Literal["auto", "flat", "grouped"] = "auto"
    drop: float = 0.5
    top_groups: int = 10
    hidden: int = 300
    leaf: int | None = None
    kept: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups not in ("auto", "flat", "grouped"):
            raise ValueError(f"groups must be auto, flat or grouped, got {self.groups!r}")
        if not 0 <= self.drop < 1:
            raise ValueError(f"drop must be in [0, 1), got {self.drop}")
        for name in ("top_groups", "hidden", "kept"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.leaf is not None and self.leaf < 1:
            raise ValueError(f"leaf must be >= 1 or none, got {self.leaf}")

    def grouped(self, labels: int) -> bool:
        """Whether so many labels are scored in groups.

        >>> LightXmlSettings().grouped(30_938), LightXmlSettings().grouped(670_091)
        (False, True)
        """
        return labels > FLAT_MOST if self.groups == "auto" else self.groups == "grouped"


@models.register
class LightXml(EncoderModel):
    """Five states of the first token; in groups, a label that no row teaches is never predicted."""

    card = ModelCard(
        name="lightxml",
        summary="five layers' states of a pretrained transformer, all labels or groups of them",
        reads=("texts", "targets"),
        paper="LightXML: Transformer with Dynamic Negative Sampling for High-Performance Extreme Multi-label "
        "Text Classification",
        scores="log-odds",
    )
    Settings = LightXmlSettings
    settings: LightXmlSettings
    kind: ClassVar[Kind] = "first-of-five"
    groups: LabelGroups | None

    def new_network(self, corpus: Corpus, *, seed: int, work: Workplace) -> FlatNetwork:
        from tailwright.models.lightxml.groups import LabelGroups, label_groups

        chosen, self.groups = self.settings, None
        if chosen.grouped(len(corpus.labels)):
            with work.phase("groups"):
                found = label_groups(corpus.train, chosen.top_groups, chosen.leaf, seed)
                self.groups = LabelGroups(found)
        return super().new_network(corpus, seed=seed, work=work)

    def output(self, labels: int, width: int, seed: int) -> Output:
        from tailwright.heads.dense_scores import DenseHead
        from tailwright.models.lightxml.output import GroupedOutput
        from tailwright.models.shared.text_output import DenseOutput

        chosen = self.settings
        if self.groups is None:
            return DenseOutput(DenseHead.new(labels, width, seed, "lightxml/head"), chosen.drop)
        return GroupedOutput.new(
            self.groups,
            width,
            chosen.hidden,
            top=chosen.top_groups,
            kept=chosen.kept,
            drop=chosen.drop,
            seed=seed,
        )

    def save(self, folder: FolderWriter) -> None:
        super().save(folder)
        if self.groups is not None:
            folder.array("groups", self.groups.of_label)

    def load(self, folder: FolderReader, labels: int) -> None:
        from tailwright.models.lightxml.groups import LabelGroups

        self.groups = None
        if self.settings.grouped(labels):
            found = folder.array("groups", dtype=np.int32, shape=(labels,))
            try:
                self.groups = LabelGroups(found)
            except ValueError as error:
                raise DamagedFolderError(
                    f"{error}", expected="groups of labels", path=folder.path / "groups.npy"
                ) from error
        super().load(folder, labels)
