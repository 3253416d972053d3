"""InceptionXML: convolutions along the axis of word vectors; clusters and labels are learnt together.

After "InceptionXML: A Lightweight Framework with Synchronized Negative Sampling for Short Text Extreme
Classification" and its published code. Encoder: `tailwright.encoders.inception`.

| pipeline | head |
|---|---|
| plus | InceptionXML+: clusters of labels, and the labels of the best clusters (`heads.synchronised`) |
| plain | a residual layer, and one linear layer over all labels |

For the first `meta_epochs` the encoder learns from clusters alone; the extreme classifier learns from its
states as they are. The Gandalf paper's InceptionXML is the plus pipeline, in its tables an ensemble of three
learners: each has a seed and clusters of its own, and a score is the log-odds of their mean probability.

The paper's code rounds soft targets up to 1; here they are learnt as they are, unless `clusters.targets` and
`label_targets` are binary. Its words lose stop words and split clitics; these are all words in lower case.
It keeps the epoch that is best on the test rows; this keeps the last, or the best on validation rows if the
corpus has some. Batches are of rows at random, not of similar length: batch statistics are of all texts.
A label in no cluster, because no row teaches it, is never predicted: gandalf gives such labels a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.encoders.settings import InceptionSettings, WordSettings
from tailwright.heads.shortlist_settings import ClusterSettings, SmoothingSettings
from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.settings import TrainingSettings

CARD = ModelCard(
    name="inceptionxml",
    summary="convolutions along word vectors, clusters of labels and the labels in the best ones",
    reads=("texts", "targets", "label texts"),
    paper="InceptionXML: A Lightweight Framework with Synchronized Negative Sampling for Short Text Extreme "
    "Classification",
    doors=("rows", "batch", "hidden"),
    mix_points=("tokens", "embeddings", "layers", "output"),
    scores="log-odds",
    extra="deep",
)

SMALLEST_WIDTH = 64  # narrower word vectors leave nothing for the second convolution
LONGEST = 65_536  # words of a text, as attention over words has a weight for each two of them
WORDS = WordSettings(spread=0.25, max_length=32)
# The label graph of the paper's code; 7.5 labels a cluster give its numbers of clusters.
CLUSTERS = ClusterSettings(labels_each=7.5, smoothing=SmoothingSettings(steps=400, restart=0.8))
# Early epochs of a cycle say little of its end: validation chooses among epochs, and stops none.
TRAINING = TrainingSettings(epochs=45, batch=128, schedule="one-cycle", warmup=0.33, patience=45)


@dataclass(frozen=True)
class InceptionXmlSettings(Settings):
    """What can be set of inceptionxml; the defaults are those of the paper's code."""

    pipeline: Literal["plus", "plain"] = setting(
        "plus", "plus: clusters, then the labels of the best ones; plain: all labels"
    )
    learners: int = setting(
        1, "networks whose probabilities are averaged; tables of papers have 3", least=1, most=100
    )
    words: WordSettings = setting(WORDS, "the words")
    inception: InceptionSettings = setting(InceptionSettings(), "the encoder")
    clusters: ClusterSettings = setting(CLUSTERS, "plus: the clusters of labels")
    top_clusters: int = setting(100, "plus: clusters whose labels a text is scored against", least=1)
    meta_epochs: int = setting(
        10, "plus: first epochs, in which the encoder learns from clusters alone", least=0, most=1_000_000
    )
    label_targets: Literal["soft", "binary"] = setting(
        "soft", "a label's target: as it is, or 1 wherever it is above 0"
    )
    drop_meta: float = setting(0.3, "plus: dropout before the classifier of clusters", least=0, below=1)
    drop_labels: float = setting(0.5, "dropout before the classifier of labels", least=0, below=1)
    rate: float = setting(5e-3, "learning rate at its peak", above=0, most=1000)
    training: TrainingSettings = setting(TRAINING, "how it is trained")

    def check(self) -> None:
        check_sequences(self.words, self.training)


def check_sequences(words: WordSettings, training: TrainingSettings) -> None:
    """Raise ValueError for words or a training that the encoder does not go with."""
    if words.width < SMALLEST_WIDTH:
        raise ValueError(f"width must be >= {SMALLEST_WIDTH}, got {words.width}")
    if words.max_length > LONGEST:
        raise ValueError(f"max_length must be <= {LONGEST}, got {words.max_length}")
    if training.average_from is not None:
        raise ValueError("average_from must be none: statistics of batches are not averaged")
