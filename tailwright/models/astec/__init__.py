"""ASTEC: word vectors learnt by a task over clusters of labels, shortlists by search, classifiers on those.

After the paper "DeepXML: a deep extreme multi-label learning framework applied to short text documents" and
its published code. A learner is trained in phases:

1. Surrogate. Labels are clustered by the texts of their rows. A text's coarse vector is the ReLU of the sum
   of its words' vectors; a one-versus-all classifier over the clusters teaches those.
2. Shortlists. With the word vectors frozen, each text is listed the labels whose centroids are near to it,
   and those that training rows near to it carry.
3. Extreme. A classifier over labels learns on positives, shortlists and labels at random.
4. Rerank. A second network, words included, learns on what the classifier ranks highest.

The score is a weighted sum of the classifiers' relative probabilities and of those of similarity; the scores
of several learners are added up. Labels that no training row carries are never predicted: they need an
augmentation that gives them a row (gandalf). Validation rows are not looked at: the last epoch counts, as in
the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailwright.heads.shortlist_settings import CandidateSettings, ClusterSettings, ShortlistSettings
from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.schedules import PhaseSettings

CARD = ModelCard(
    name="astec",
    summary="word vectors learnt on clusters of labels, shortlists by search, classifiers on those",
    reads=("texts", "targets", "label texts"),
    paper="DeepXML: A Deep Extreme Multi-Label Learning Framework Applied to Short Text Documents",
    doors=("rows", "batch"),
    scores="rank",  # sums of probabilities that are relative to the largest of a text
    extra="deep",
)


@dataclass(frozen=True)
class RerankSettings(PhaseSettings):
    """The reranker and the phase that trains it."""

    epochs: int = setting(10, "passes over the rows; 0: no reranker", least=0, most=1_000_000)
    weight: float = setting(
        0.6, "weight beside the extreme classifier, which has 1 minus this", least=0, most=1
    )


@dataclass(frozen=True)
class AstecSettings(Settings):
    """What can be set of astec; the defaults are those of the paper's code for LF-AmazonTitles-131K."""

    width: int = setting(300, "dimensions of the word vectors", least=1, most=65_536)
    vectors: str = setting(
        "random", "what word vectors start from: random, spacy, wordllama, glove, or a path to a table"
    )
    min_count: int = setting(1, "texts that a word must be in", least=1)
    learners: int = setting(
        1, "networks whose scores are added up; the paper's tables have 3", least=1, most=100
    )
    batch: int = setting(255, "rows a step; fewer if an epoch had under 64 steps, but at least 32", least=1)
    dropout: float = setting(0.5, "dropout on coarse vectors and in residual layers", least=0, below=1)
    clusters: ClusterSettings = setting(ClusterSettings(), "the clusters of the surrogate task")
    surrogate: PhaseSettings = setting(PhaseSettings(20, 0.03, 14), "the phase that trains word vectors")
    shortlist: ShortlistSettings = setting(ShortlistSettings(), "how labels are listed for a text")
    candidates: CandidateSettings = setting(CandidateSettings(), "the labels that a row is trained on")
    extreme: PhaseSettings = setting(PhaseSettings(15, 0.001, 14, 5.0), "the phase that trains classifiers")
    rerank: RerankSettings = setting(RerankSettings(10, 0.002, 8, 5.0), "the reranker")
    stored: int = setting(200, "labels kept of either ranking before both are added up", least=1)
    beta: float = setting(
        0.1, "weight of classifiers beside similarity, which has 1 minus this", least=0, most=1
    )
