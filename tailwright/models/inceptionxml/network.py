"""The network of one `inceptionxml` learner, and the ensemble of all."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.text.sequences import TokenBatch, TokenRows
from tailwright.encoders.batch_norm import BatchNorm
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.inception import InceptionEncoder
from tailwright.encoders.initial import start_xavier
from tailwright.encoders.mixing import Mixing
from tailwright.encoders.residual import SpectralMap
from tailwright.encoders.row_table import RowTable
from tailwright.evaluation.ranking import TopK
from tailwright.heads.cluster_head import ClusterHead
from tailwright.heads.dense import DenseHead
from tailwright.heads.initial import xavier_uniform
from tailwright.heads.label_groups import LabelGroups
from tailwright.heads.shortlist import weighted_sum
from tailwright.heads.synchronised import SynchronisedHead, the_same
from tailwright.labels.vectors import unit_rows
from tailwright.models.inceptionxml import InceptionXmlSettings
from tailwright.models.shared.texts import WordTexts
from tailwright.models.shared.token_network import TokenNetwork, ranked
from tailwright.streams import stream
from tailwright.training.watch import Answer

# Labels of each learner's ranking that count in the mean of an ensemble.
RANKED = 256


class SpectralBranch(nn.Module):
    """dropout(x + GELU(W dropout(x) / s + b)): what lies before a classifier of the plus pipeline."""

    def __init__(self, width: int, drop: float, drop_out: float, seed: int, name: str) -> None:
        super().__init__()
        self.map = SpectralMap(width, width, seed, name)
        self.drop_in, self.drop_out = Dropout(drop), Dropout(drop_out)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(rows, width)."""
        branch: torch.Tensor = self.drop_out(states + functional.gelu(self.map(self.drop_in(states))))
        return branch


class PlainHead(nn.Module):
    """dropout(x + norm(GELU(W dropout(x) + b))), and one linear layer over all labels."""

    mix_points: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, labels: int, width: int, drop: float, drop_out: float, *, binary: bool, seed: int
    ) -> None:
        super().__init__()
        self.labels = labels
        self.linear, self.norm = nn.Linear(width, width), BatchNorm(width)
        self.drop_in, self.drop_out, self.binary = Dropout(drop), Dropout(drop_out), binary
        start_xavier(self.linear, stream(seed, "inceptionxml/plain"))
        self.dense = DenseHead(labels, width, seed=seed, name="inceptionxml/labels", start="xavier")
        nn.init.zeros_(self.dense.bias)  # type: ignore[arg-type]

    def forward(
        self, encoded: Encoded, targets: BatchTargets, *, mixing: Mixing | None = None
    ) -> torch.Tensor:
        loss: torch.Tensor = self.dense(self._hidden(encoded), targets.binary() if self.binary else targets)
        return loss

    @torch.no_grad()
    def top_k(self, encoded: Encoded, k: int) -> TopK:
        """The k best labels of each text with their log-odds."""
        return self.dense.top_k(self._hidden(encoded), k)

    def _hidden(self, encoded: Encoded) -> Encoded:
        states = encoded.states
        branch = self.norm(functional.gelu(self.linear(self.drop_in(states))))
        return Encoded(self.drop_out(states + branch), None)


def learner_network(
    table: np.ndarray, groups: LabelGroups | None, labels: int, settings: InceptionXmlSettings, *, seed: int
) -> TokenNetwork:
    """One learner; `table` (ids, vector width) are the word vectors to start from.

    With `groups` of labels it is of the plus pipeline, without of the plain one.
    """
    chosen, drop = settings.inception, settings.inception.drop_hidden
    length = settings.words.max_length
    binary = settings.label_targets == "binary"
    if groups is None:
        encoder = InceptionEncoder(table, length, chosen, seed=seed, drop_channels=drop)
        head = PlainHead(labels, encoder.width, drop, settings.drop_labels, binary=binary, seed=seed)
        return TokenNetwork(encoder, head)
    encoder = InceptionEncoder(table, length, chosen, seed=seed)
    width = encoder.width
    branches = (
        SpectralBranch(width, drop, settings.drop_meta, seed, "inceptionxml/meta/branch"),
        SpectralBranch(width, drop, settings.drop_labels, seed, "inceptionxml/labels/branch"),
    )
    vectors = RowTable(xavier_uniform((labels, width), seed, "inceptionxml/labels").numpy())
    return TokenNetwork(
        encoder,
        SynchronisedHead(
            groups,
            branches,
            meta_head(groups.count, width, seed, "inceptionxml/meta"),
            vectors,
            the_same,
            top=settings.top_clusters,
            binary_clusters=settings.clusters.targets == "binary",
            binary_labels=binary,
        ),
    )


def meta_head(clusters: int, width: int, seed: int, name: str) -> ClusterHead:
    """Classifiers of clusters with Xavier-uniform vectors and biases of zero."""
    table = np.zeros((clusters, width + 1), dtype=np.float32)
    table[:, :width] = xavier_uniform((clusters, width), seed, name).numpy()
    return ClusterHead(table)


class Learners(nn.ModuleDict):
    """Trained networks by name, whose probabilities are averaged."""

    def learner(self, name: str) -> TokenNetwork:
        network = self[name]
        assert isinstance(network, TokenNetwork)
        return network

    @property
    def mix_points(self) -> tuple[str, ...]:
        """Those of the heads, which have none."""
        return ()

    def top_k(self, batch: TokenBatch, k: int) -> TopK:
        """The k best labels of each text with the log-odds of their mean probability."""
        if len(self) == 1:
            return self.learner(next(iter(self))).top_k(batch, k)
        rankings = [self.learner(name).top_k(batch, max(k, RANKED)) for name in self]
        labels = self.learner(next(iter(self))).head.labels
        return mean_log_odds(rankings, labels, k)

    def vectors(self, tokens: TokenRows) -> np.ndarray:
        """(rows, width): the states of all learners, each of length 1, side by side."""
        return np.concatenate([unit_rows(self.learner(name).vectors(tokens)) for name in self], axis=1)


def answering(network: TokenNetwork, reads: WordTexts, texts: pa.LargeStringArray) -> Answer:
    """The k best labels of texts by one learner as it is whenever it is asked."""
    tokens = reads.tokens(texts)
    return lambda k: ranked(tokens.lengths, lambda rows: network.top_k(tokens.batch(rows), k), k)


def mean_log_odds(rankings: list[TopK], labels: int, k: int) -> TopK:
    """The k best labels by the mean of their probabilities, 0 where a ranking lacks a label.

    >>> one = TopK(np.array([[3, 1]]), np.array([[0.0, -1.0]]))
    >>> other = TopK(np.array([[1, -1]]), np.array([[1.0, -np.inf]]))
    >>> top = mean_log_odds([one, other], 4, 3)
    >>> top.ids.tolist(), round(float(top.scores[0, 1]), 3)
    ([[1, 3, -1]], -1.099)
    """
    with np.errstate(over="ignore"):
        probabilities = [TopK(top.ids, 1 / (1 + np.exp(-top.scores))) for top in rankings]
    best = weighted_sum(probabilities, [1 / len(probabilities)] * len(probabilities), labels, k)
    named = best.ids >= 0
    probability = np.clip(np.where(named, best.scores, 0.5), np.finfo(np.float32).tiny, 1 - 2.0**-24)
    probability = probability.astype(np.float64)
    return TopK(best.ids, np.where(named, np.log(probability) - np.log1p(-probability), -np.inf))
