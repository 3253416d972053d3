"""Twin: a text and a label's text become vectors in one space, and the nearest labels are the answer.

Both sides share one table of word vectors. A text is the TF-IDF-weighted sum of its words, followed by a
residual layer of its side that starts at zero; a label adds a free vector, which starts at zero too. Scores
are cosines times a learnt scale. Before training this is a random projection of TF-IDF matching, so labels
without a training row are found by their words; training adds what the targets say.

The loss is a decoupled softmax: each positive of a row against the labels that the batch shares, which are
the positives of its other rows and labels drawn at random.

docs/results/short-text.md has what was tried.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.schedules import Shape
from tailwright.training.settings import Metric

CARD = ModelCard(
    name="twin",
    summary="texts and label texts in one space, learnt from the targets; strong on rare labels",
    reads=("texts", "targets", "label texts"),
    doors=("rows", "batch"),
    scores="log-odds",
    adds_labels=True,
    continues="new rows",
)


@dataclass(frozen=True)
class TwinSettings(Settings):
    """What can be set of twin."""

    width: int = setting(256, "dimensions of the vectors", least=1, most=65_536)
    epochs: int = setting(3, "passes over the training rows", least=1, most=1_000_000)
    batch: int = setting(512, "rows a step", least=1)
    negatives: int = setting(
        1024,
        "labels drawn at random for each batch, besides the positives of its rows",
        least=0,
        most=1_000_000,
    )
    correction: float = setting(
        0.7, "how far a batch's negatives represent all labels; more favours frequent labels", least=0, most=1
    )
    rate: float = setting(5e-3, "learning rate of word vectors and free vectors", above=0, most=1000)
    block_rate: float = setting(
        1e-3, "learning rate of the residual layers, and a tenth of that of the scale", above=0, most=1000
    )
    schedule: Shape = setting("linear", "shape of the learning rate over the steps")
    warmup: float = setting(0.05, "share of the steps over which the learning rate rises", least=0, below=1)
    scale: float = setting(20.0, "what the scale of the cosines starts at", above=0, most=1_000_000)
    clip: float | None = setting(None, "largest norm of a gradient; none: no clipping", above=0)
    metric: Metric = setting("P@1", "what validation rows are judged by, if there are any")
    patience: int = setting(2, "epochs without a better validation before training stops", least=1)
    min_count: int = setting(1, "texts that a word must be in", least=1)
    pieces: int = setting(4, "letters of a sub-word piece; 0: words alone", least=0, most=65_536)
    piece_weight: float = setting(
        0.7, "weight of the pieces of a text beside its words", above=0, most=1_000_000
    )

    def check(self) -> None:
        if self.pieces == 1:
            raise ValueError("pieces must be 0 or >= 2, got 1")
