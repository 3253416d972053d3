"""DECAF: classifiers made of label texts and of a free vector each, over a beam of clusters.

After the paper "DECAF: Deep Extreme Classification with Label Features" and its published code. Texts of rows
and of labels share their word vectors. A label's classifier is a gated sum of its text's vector and of one of
its own, which starts at the sum of its words' vectors.

1. Surrogate. Labels are clustered by the texts of their rows. Classifiers of clusters, made of the labels'
   texts alone, teach word vectors.
2. Meta, for each learner. Labels are clustered again, by the vectors of their rows. Classifiers of these
   clusters are learnt, words included.
3. Extreme, for each learner. Every text gets the labels of its best clusters, and classifiers of labels learn
   on those, words included.

The score of a label is the product of its probability and its cluster's, averaged over the learners.

Labels without a text have their free vector alone, clusters without any text have one in the surrogate task
too. Labels that no training row carries are clustered and scored by their texts; those without a text as well
are never predicted. Positives that a row's clusters do not hold give no loss, as in the paper; the log says
how many are reached, and `beam.missed=added` adds the others. Validation rows are not looked at: the last
epoch counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailwright.heads.shortlist_settings import BeamSettings, PlainClusterSettings
from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.schedules import PhaseSettings

CARD = ModelCard(
    name="decaf",
    summary="classifiers of label texts and free vectors, on the labels of a text's best clusters",
    reads=("texts", "targets", "label texts"),
    paper="DECAF: Deep Extreme Classification with Label Features",
    doors=("rows", "batch"),
    extra="deep",
)


@dataclass(frozen=True)
class DecafSettings(Settings):
    """What can be set of decaf; the defaults are those of the paper's code for LF-AmazonTitles-131K."""

    width: int = setting(300, "dimensions of the word vectors", least=1, most=65_536)
    vectors: str = setting(
        "random", "what word vectors start from: random, spacy, wordllama, glove, or a path to a table"
    )
    min_count: int = setting(1, "texts that a word must be in", least=1)
    learners: int = setting(
        1, "learners whose probabilities are averaged; the paper's tables have 3", least=1, most=100
    )
    batch: int = setting(
        255,
        "rows a step, which makes all label vectors anew: more rows are faster; fewer if an epoch had under "
        "64 steps, but at least 32",
        least=1,
    )
    clusters: PlainClusterSettings = setting(
        PlainClusterSettings(32_768, 3.5, "all"), "the clusters of labels"
    )
    surrogate: PhaseSettings = setting(
        PhaseSettings(20, 0.01, 10, 3.0), "the phase that trains word vectors for all learners"
    )
    surrogate_dropout: float = setting(0.5, "dropout in the surrogate phase", least=0, below=1)
    meta: PhaseSettings = setting(
        PhaseSettings(10, 0.008, 5, 2.0), "the phase that trains classifiers of clusters"
    )
    extreme: PhaseSettings = setting(
        PhaseSettings(10, 0.008, 5, 2.0), "the phase that trains classifiers of labels"
    )
    dropout: float = setting(0.2, "dropout in these two phases", least=0, below=1)
    beam: BeamSettings = setting(BeamSettings(), "the clusters that are kept of a text")
