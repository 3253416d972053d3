"""ECLARE: classifiers made of a label's text, of its neighbours' texts in a graph, and of a free vector.

After the paper "ECLARE: Extreme Classification with Label Graph Correlations" and its published code. The
label graph comes from random walks over the original training rows (`tailwright.labels.correlation`). A
label's classifier is the attention-weighted mean of the vectors of its text, of its neighbours' texts, and
of one of its own, which starts at the sum of its neighbours' words.

1. Surrogate. Labels are clustered by the texts of their rows, smoothed over the graph; frequent labels are
   kept apart. Classifiers of clusters, made of texts alone, teach word vectors.
2. Meta, for each learner. Edges between labels of dissimilar texts go; labels are clustered again, by the
   vectors of their rows. Classifiers of these clusters are learnt, with frozen words.
3. Extreme, for each learner. Every text gets the labels of its best clusters, and their neighbours.
   Classifiers of labels learn on those, with frozen words.

The score of a label is the product of its probability and its cluster's. Half of the probability of a
cluster, and of a label, comes from its neighbours in the graph. Scores are averaged over the learners.

Labels without a text have their neighbours' texts and their free vector; clusters without any text have a
free vector in the surrogate task too. Labels that no training row carries are clustered and scored by their
texts; those without a text as well are never predicted. Positives that are not in a row's list give no loss,
as in the paper; the log says how many are reached, and `beam.missed=added` adds the others. Augmentations at
the batch door reach the surrogate phase, where words learn. Validation rows are not looked at: the last epoch
counts.

The paper's code removes edges between dissimilar texts before it keeps the strongest ones of a label; here
the strongest ones are kept first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailwright.heads.shortlist_settings import BeamSettings, PlainClusterSettings, WalkSettings
from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.schedules import PhaseSettings

CARD = ModelCard(
    name="eclare",
    summary="decaf with a label graph: neighbours' texts make classifiers, and pass on probability",
    reads=("texts", "targets", "label texts"),
    paper="ECLARE: Extreme Classification with Label Graph Correlations",
    doors=("rows", "batch"),
    extra="deep",
)


@dataclass(frozen=True)
class EclareClusterSettings(PlainClusterSettings):
    """Clusters of labels, of vectors that are smoothed over the label graph."""

    apart: int = setting(500, "labels on more original rows than this are clustered by themselves", least=1)
    words: int = setting(1000, "strongest words kept of a label's vector in the surrogate task", least=1)


@dataclass(frozen=True)
class EclareBeamSettings(BeamSettings):
    """The clusters that are kept of a text, and the labels that its row learns."""

    longest: int = setting(2000, "most labels that a row learns, those nearby in the graph included", least=1)


@dataclass(frozen=True)
class EclareSettings(Settings):
    """What can be set of eclare; the defaults are those of the paper's code for LF-AmazonTitles-131K."""

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
    graph: WalkSettings = setting(WalkSettings(400, 0.8, 10, 500), "the label graph")
    similar: float = setting(
        0.0, "least cosine of the texts of two labels with an edge, once words are learnt", least=-1, most=1
    )
    clusters: EclareClusterSettings = setting(
        EclareClusterSettings(32_768, 3.5, "all"), "the clusters of labels"
    )
    surrogate: PhaseSettings = setting(
        PhaseSettings(20, 0.005, 10, 3.0), "the phase that trains word vectors for all learners"
    )
    meta: PhaseSettings = setting(
        PhaseSettings(10, 0.004, 5, 5.0), "the phase that trains classifiers of clusters"
    )
    extreme: PhaseSettings = setting(
        PhaseSettings(10, 0.004, 5, 5.0), "the phase that trains classifiers of labels"
    )
    dropout: float = setting(0.2, "dropout in all phases", least=0, below=1)
    beam: EclareBeamSettings = setting(EclareBeamSettings(50), "the clusters that are kept of a text")
