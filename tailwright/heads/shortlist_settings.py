"""What can be set of clusters, shortlists and candidates, in any classifier that has them.

This file imports nothing heavy, so that models can nest these settings in their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tailwright.settings import Settings, setting

SearchMethod: TypeAlias = Literal["auto", "exact", "hnsw"]


@dataclass(frozen=True)
class WalkSettings(Settings):
    """The label graph, which random walks over the rows of labels make."""

    steps: int = setting(50, "hops of the random walk from each label", least=1, most=1_000_000)
    restart: float = setting(0.2, "probability that a hop starts at the label again", above=0, most=1)
    top: int = setting(10, "strongest edges kept for each label", least=1)
    head_cut: int = setting(500, "labels on more rows than this have no edge but to themselves", least=1)


@dataclass(frozen=True)
class SmoothingSettings(WalkSettings):
    """The label graph over which label vectors are smoothed before they are clustered."""

    most_rows: int = setting(5000, "no smoothing where a label is on more rows than this: too dense", least=0)


@dataclass(frozen=True)
class PlainClusterSettings(Settings):
    """Clusters of labels, made of label vectors as they are."""

    count: int = setting(65_536, "most clusters, rounded down to a power of two; 65,536 at most", least=1)
    labels_each: float = setting(
        2.5, "fewest labels with original rows for each cluster, on average", least=1
    )
    rows: Literal["original", "all"] = setting("original", "rows whose texts describe a label")
    targets: Literal["max", "binary"] = setting("max", "a cluster's target: the largest of its labels', or 1")


@dataclass(frozen=True)
class ClusterSettings(PlainClusterSettings):
    """The clusters of labels that a surrogate task tells apart."""

    smoothing: SmoothingSettings = setting(SmoothingSettings(), "how label vectors are smoothed")


@dataclass(frozen=True)
class BeamSettings(Settings):
    """The clusters that are kept of a text, and what rows learn of the labels in them."""

    size: int = setting(200, "clusters kept of a text, the best ones, whose labels are scored", least=1)
    missed: Literal["left out", "added"] = setting(
        "left out", "positives that a row's clusters do not hold: without loss, or added to its labels"
    )
    targets: Literal["soft", "binary"] = setting("soft", "a label's target: as it is, or 1")


@dataclass(frozen=True)
class ShortlistSettings(Settings):
    """The labels that are listed for a text, which classifiers then score."""

    size: int = setting(500, "labels listed for a text", least=1)
    centroids: int = setting(400, "nearest label centroids of a text", least=1)
    points: int = setting(100, "nearest training rows, which vote for their labels; 0: no votes", least=0)
    point_labels: int = setting(400, "labels kept of these votes", least=1)
    point_weight: float = setting(
        0.075, "weight of votes beside centroids, which have 1 minus this", least=0, most=1
    )
    head_centroids: int = setting(1, "additional centroids of labels on many rows; 1: none", least=1)
    head_points: int = setting(7500, "rows from which on a label gets additional centroids", least=1)
    search: SearchMethod = setting(
        "auto", "exact, a graph (needs tailwright[ann]), or by the number of points"
    )


@dataclass(frozen=True)
class CandidateSettings(Settings):
    """The labels that a row is trained on."""

    size: int = setting(650, "labels that a row is trained on, random ones included", least=1)
    positives: int = setting(20, "most positives among them", least=1)
    random: int = setting(170, "labels drawn at random to fill up a row's list", least=0)

    def check(self) -> None:
        if self.size < self.positives:
            raise ValueError(f"size must be >= positives={self.positives}, got {self.size}")
