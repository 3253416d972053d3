"""LightXML: the first token's states of the last five layers, and labels scored flat or in groups.

After "LightXML: Transformer with Dynamic Negative Sampling for High-Performance Extreme Multi-label Text
Classification", whose flat form is also the classifier of XDA. The feature of a text is five states side by
side, of which dropout leaves a part out in training.

| form | head |
|---|---|
| flat | one linear layer over all labels |
| grouped | a linear layer over groups of labels, then vectors of the labels in the best groups |

Where `xda` made rows, training has two parts, as in its paper (`retraining.retrain`):

| part | learns | from |
|---|---|---|
| f0 | all, as ever | original rows |
| retraining | the head, drawn anew or as it is in f0 | original and made rows, as f0's encoder reads them |

f0 also scores the made rows for `filter`. Methods of the hidden door mix in the retraining, at `output`.

The paper's settings are in configs/lightxml-flat.toml and configs/lightxml-grouped.toml. The defaults differ
where few epochs on a CPU ask for it: the head learns faster than the encoder, rates fall to zero instead of
weights being averaged, biases start at the log-odds of labels, less of the feature is dropped, and `epsilon`
is 1e-8. With the paper's 1e-6 and a loss that is a mean over all labels, the gradients of a rare label are
below it, so that label hardly moves. docs/results/long-text.md has what was measured.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from tailwright.encoders.settings import TransformerSettings
from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.settings import TrainingSettings

CARD = ModelCard(
    name="lightxml",
    summary="five layers' states of a pretrained transformer, all labels or groups of them",
    reads=("texts", "targets"),
    paper="LightXML: Transformer with Dynamic Negative Sampling for High-Performance Extreme Multi-label "
    "Text Classification",
    doors=("rows", "hidden"),
    mix_points=("tokens", "embeddings", "layers", "output"),
    scores="log-odds",
    extra="deep",
)

# With bert-base a label of the flat layer is 5 x 768 + 1 weights: so many labels are 126 million, more than
# the 110 million of the encoder, and every step passes over all of them. In training each is held six times
# (weight, gradient, two moments, average, best): 3 GB, and half of it with minilm.
MOST_FLAT_LABELS = 1 << 15
TRAINING = TrainingSettings(schedule="linear", warmup=0.06, weight_decay=0.01, average_counted="epoch")


@dataclass(frozen=True)
class RetrainingSettings(Settings):
    """Whether and how the head is retrained on original and made rows.

    What is not set here is as in the first part, but for weight decay, which is 0, and `epsilon`, 1e-8.
    """

    retrain: Literal["auto", "on", "off"] = setting(
        "auto",
        "first all learns from original rows, then the head alone from all rows; auto: where xda made rows; "
        "on: where any method did; off: all learns from all rows at once",
    )
    start: Literal["reinit", "from_f0"] = setting(
        "reinit", "what the retrained head starts at: drawn anew; from_f0: what it has learnt before"
    )
    passes: Literal["alternate", "joint"] = setting(
        "alternate", "each epoch: original rows, then made rows; joint: both shuffled together"
    )
    retrain_epochs: int | None = setting(
        None, "passes of the retraining; none: as many as epochs", least=1, most=1_000_000
    )
    retrain_rate: float | None = setting(
        None, "learning rate of the retraining; none: that of the head", above=0, most=1000
    )

    def retrains(self, made_by: Collection[str]) -> bool:
        """Whether rows that these methods made call for it.

        >>> auto, always = RetrainingSettings(), RetrainingSettings("on")
        >>> auto.retrains({"eda"}), auto.retrains({"eda", "xda"}), always.retrains({"eda"})
        (False, True, True)
        """
        return {"auto": "xda" in made_by, "on": bool(made_by), "off": False}[self.retrain]


@dataclass(frozen=True)
class LightXmlSettings(Settings):
    """What can be set of lightxml."""

    groups: Literal["auto", "flat", "grouped"] = setting(
        "auto", "whether labels are scored flat or in groups; auto: in groups above 32,768 labels"
    )
    start_bias: Literal["random", "zero", "log-odds"] = setting(
        "log-odds",
        "what biases start at: the log-odds of labels, or groups, among the rows; random, the paper's; zero",
    )
    drop: float = setting(0.2, "dropout on the feature of a text; the paper's is 0.5", least=0, below=1)
    top_groups: int = setting(10, "grouped: groups whose labels a text is scored against", least=1)
    hidden: int = setting(300, "grouped: width of label vectors", least=1, most=65_536)
    leaf: int | None = setting(
        None, "grouped: most labels of a group; none: what makes for the fewest scores", least=1
    )
    kept: int = setting(100, "grouped: most labels of a ranking", least=1)
    transformer: TransformerSettings = setting(TransformerSettings(), "the encoder")
    training: TrainingSettings = setting(TRAINING, "how it is trained")
    retraining: RetrainingSettings = setting(
        RetrainingSettings(), "how its head is retrained where there are made rows"
    )

    def grouped(self, labels: int) -> bool:
        """Whether so many labels are scored in groups.

        >>> LightXmlSettings().grouped(30_938), LightXmlSettings().grouped(670_091)
        (False, True)
        """
        return labels > MOST_FLAT_LABELS if self.groups == "auto" else self.groups == "grouped"
