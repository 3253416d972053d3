"""The network of one `inceptionxml-lf` learner."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.encoders.bags import Bags
from tailwright.encoders.dropout import Dropout
from tailwright.encoders.residual import SpectralMap
from tailwright.encoders.routed_inception import RoutedEncoder
from tailwright.heads.cluster_head import ClusterHead
from tailwright.heads.label_groups import LabelGroups
from tailwright.heads.label_text_vectors import LabelTextVectors
from tailwright.heads.synchronised import SynchronisedHead, halves
from tailwright.labels.clustering import balanced_clusters
from tailwright.models.inceptionxml.network import SpectralBranch, meta_head
from tailwright.models.inceptionxml_lf import InceptionXmlLfSettings
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.streams import stream


class PooledBranch(nn.Module):
    """dropout(pool(x) + GELU(W dropout(x) / s + b)), from one width to another."""

    def __init__(
        self, inputs: int, outputs: int, drop: float, drop_out: float, *, seed: int, name: str
    ) -> None:
        super().__init__()
        self.map = SpectralMap(inputs, outputs, seed, name)
        self.drop_in, self.drop_out = Dropout(drop), Dropout(drop_out)
        self.outputs = outputs

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(rows, inputs) to (rows, outputs)."""
        pooled = functional.adaptive_avg_pool1d(states[:, None], self.outputs).squeeze(1)
        branch: torch.Tensor = self.drop_out(pooled + functional.gelu(self.map(self.drop_in(states))))
        return branch


class TextualHead(SynchronisedHead):
    """A synchronised head with label vectors out of texts, whose clusters change between its phases."""

    # (labels,): the cluster of each label, -1 for none; a weight, so that checkpoints have it.
    of_label: torch.Tensor

    def __init__(
        self,
        groups: LabelGroups,
        branches: tuple[nn.Module, nn.Module],
        meta: ClusterHead,
        vectors: LabelTextVectors,
        settings: InceptionXmlLfSettings,
        seed: int,
    ) -> None:
        top = settings.top_clusters or root_clusters(groups)
        super().__init__(
            groups,
            branches,
            meta,
            vectors,
            halves,
            top=top,
            binary_clusters=settings.clusters.targets == "binary",
            binary_labels=settings.label_targets == "binary",
        )
        self.seed = seed
        self.register_buffer("of_label", torch.from_numpy(groups.of_label.astype(np.float32)))

    @property
    def textual(self) -> LabelTextVectors:
        assert isinstance(self.vectors, LabelTextVectors)
        return self.vectors

    def enter(self, *, free: bool) -> None:
        """Be in the first phase or, `free`, in the second, with the clusters that the weights say."""
        self.textual.uses_free = free
        of_label = self.of_label.cpu().numpy().astype(np.int32)
        if not np.array_equal(of_label, self.groups.of_label):
            self.groups = LabelGroups(of_label)

    @torch.no_grad()
    def start_free(self) -> None:
        """Begin the second phase: clusters by learnt word vectors, a new meta classifier, free vectors."""
        grouped = np.flatnonzero(self.groups.of_label >= 0)
        if len(grouped):
            sums = self.textual.text_sums()[grouped]
            # Not the seed of the first clusters, from which few labels would be split as before.
            seed = int(stream(self.seed, "inceptionxml-lf/clusters").integers(2**31))
            clusters = balanced_clusters(sums, self.groups.count, seed=seed)
            self.of_label[torch.from_numpy(grouped)] = torch.from_numpy(clusters.astype(np.float32))
        width = self.meta.table.array.shape[1] - 1
        anew = meta_head(self.groups.count, width, self.seed, "inceptionxml-lf/meta/free")
        self.meta.table.array[:] = anew.table.array
        self.textual.start_free(self.seed, "inceptionxml-lf/free")
        self.enter(free=True)


def root_clusters(groups: LabelGroups) -> int:
    """How many groups hold as many labels as the root of all.

    >>> root_clusters(LabelGroups(np.repeat(np.arange(64, dtype=np.int32), 4)))
    4
    """
    labels = int(np.count_nonzero(groups.of_label >= 0))
    return max(math.ceil(math.sqrt(labels) / max(groups.members.shape[1], 1)), 1)


def learner_network(
    table: np.ndarray,
    groups: LabelGroups,
    texts: Bags,
    neighbours: Bags,
    settings: InceptionXmlLfSettings,
    *,
    seed: int,
) -> TokenNetwork:
    """One learner; `table` (ids, width) are the word vectors to start from.

    `texts` are the words of labels, `neighbours` their edges in the label graph.
    """
    encoder = RoutedEncoder(table, settings.words.max_length, settings.inception, seed=seed)
    drop, name = settings.inception.drop_hidden, "inceptionxml-lf"
    states, width = encoder.width // 2, encoder.words.width
    branches = (
        SpectralBranch(states, drop, settings.drop_meta, seed, f"{name}/meta/branch"),
        PooledBranch(states, width, drop, settings.drop_labels, seed=seed, name=f"{name}/labels/branch"),
    )
    vectors = LabelTextVectors(
        encoder.words.table, texts, neighbours, settings.drop_attention, seed=seed, name=f"{name}/labels"
    )
    meta = meta_head(groups.count, states, seed, f"{name}/meta")
    return TokenNetwork(encoder, TextualHead(groups, branches, meta, vectors, settings, seed))
