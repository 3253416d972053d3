"""InceptionXML-LF: InceptionXML+ whose label vectors are made of label texts and of the label graph.

After appendix A of "Gandalf: Data Augmentation is all you need for Extreme Classification"; there is no
published code. Encoder: `tailwright.encoders.routed_inception`; label vectors:
`tailwright.heads.label_text_vectors`; clusters and labels are learnt together as in `inceptionxml`. A learner
is trained in two phases:

1. Texts. Label vectors are made of word vectors alone, which queries and labels share.
2. Free. Labels are clustered again, by their texts in the learnt word vectors; the classifier of clusters
   starts anew, and each label gets a free vector besides, which starts at the vector of its text.

Where the paper is silent: the state of a text, 480 numbers, becomes one of the width of label vectors by a
layer with an average pool beside it; nothing is detached (`meta_epochs`); a label without an edge in the
graph is its own neighbour; both phases have 25 epochs, and the second a lower rate.
A step costs as much as the labels that its rows are scored against: a text has about the root of all labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.encoders.settings import InceptionSettings, WordSettings
from tailwright.heads.shortlist_settings import ClusterSettings, WalkSettings
from tailwright.models import ModelCard
from tailwright.models.inceptionxml import CLUSTERS, WORDS, check_sequences
from tailwright.settings import Settings, setting
from tailwright.training.settings import TrainingSettings

CARD = ModelCard(
    name="inceptionxml-lf",
    summary="inceptionxml with label vectors out of label texts, the label graph and free vectors",
    reads=("texts", "targets", "label texts"),
    paper="Gandalf: Data Augmentation is all you need for Extreme Classification",
    doors=("rows", "batch", "hidden"),
    mix_points=("tokens", "embeddings", "layers", "output"),
    scores="log-odds",
    extra="deep",
)

TRAINING = TrainingSettings(epochs=25, batch=128, schedule="one-cycle", warmup=0.33, patience=25)


@dataclass(frozen=True)
class InceptionXmlLfSettings(Settings):
    """What can be set of inceptionxml-lf."""

    learners: int = setting(1, "networks whose probabilities are averaged", least=1, most=100)
    words: WordSettings = setting(WORDS, "the words")
    inception: InceptionSettings = setting(InceptionSettings(), "the encoder")
    clusters: ClusterSettings = setting(CLUSTERS, "the clusters of labels of the first phase")
    graph: WalkSettings = setting(
        WalkSettings(steps=400, restart=0.8), "the label graph that neighbours come from"
    )
    top_clusters: int | None = setting(
        None,
        "clusters whose labels a text is scored against; none: as hold the root of all labels",
        least=1,
    )
    meta_epochs: int = setting(
        0, "first epochs of a phase, in which the encoder learns from clusters alone", least=0, most=1_000_000
    )
    label_targets: Literal["soft", "binary"] = setting(
        "soft", "a label's target: as it is, or 1 wherever it is above 0"
    )
    drop_meta: float = setting(0.3, "dropout before the classifier of clusters", least=0, below=1)
    drop_labels: float = setting(0.5, "dropout before the classifier of labels", least=0, below=1)
    drop_attention: float = setting(0.2, "dropout in the attention of label vectors", least=0, below=1)
    rate: float = setting(5e-3, "learning rate of the first phase at its peak", above=0, most=1000)
    free_epochs: int = setting(25, "passes of the second phase, with free vectors", least=1, most=1_000_000)
    free_rate: float = setting(2e-3, "learning rate of the second phase at its peak", above=0, most=1000)
    training: TrainingSettings = setting(TRAINING, "how the first phase is trained, and the second")

    def check(self) -> None:
        check_sequences(self.words, self.training)
