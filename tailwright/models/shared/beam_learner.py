"""`BeamLearner`: what prediction needs of a learner that scores the labels of a text's best clusters."""

from __future__ import annotations

import numpy as np
from torch import nn

from tailwright.encoders.bags import Bags
from tailwright.encoders.text_tower import TextTower
from tailwright.evaluation.ranking import TopK
from tailwright.heads.cluster_beam import BeamHead


class BeamLearner(nn.Module):
    """Two towers that read texts, one for the classifiers of clusters and one for those of labels."""

    def __init__(self, meta: TextTower, extreme: TextTower, head: BeamHead) -> None:
        super().__init__()
        self.meta, self.extreme, self.head = meta, extreme, head

    def best_clusters(self, bags: Bags, beam: int) -> TopK:
        """The best clusters of each text; none for a text without words."""
        return _of_words(self.head.best_clusters(self.meta.vectors(bags), beam), bags)

    def ranked(self, bags: Bags, clusters: TopK, k: int) -> TopK:
        """The k best labels of each text, from its clusters, best first, with the logarithm of the score."""
        return self.head.best_labels(clusters, self.extreme.vectors(bags), k)


def _of_words(top: TopK, bags: Bags) -> TopK:
    """The lists of texts that have words, empty ones for the others."""
    silent = (np.diff(bags.indptr) == 0)[:, None]
    return TopK(np.where(silent, -1, top.ids), np.where(silent, -np.inf, top.scores))
