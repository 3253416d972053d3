"""The network of twin: word vectors, a residual layer a side, free label vectors, and a scale.

`TwinVectors` is what prediction needs of it, as arrays, and what more labels and rows need later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tailwright.data.batch_targets import BatchTargets
from tailwright.data.dataset import Dataset
from tailwright.encoders.bags import Bags, joined, share_words
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.heads.clustered_points import FEWEST_POINTS, ClusteredPoints, PointClusters
from tailwright.heads.nearest import RoundedPoints
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.sides import Side, lengths_of, raw_vectors, unit_vectors
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.streams import stream
from tailwright.training.array_network import ArrayLoss, ArrayNetwork
from tailwright.training.losses import decoupled_softmax
from tailwright.training.named_arrays import Arrays
from tailwright.training.sparse_adam import RoundedRowAdam


@dataclass(frozen=True, eq=False)
class LabelSide:
    """How the label vectors came about; prediction does without it."""

    layer: np.ndarray  # (width, width) float32
    lengths: np.ndarray  # (labels, 1) float32: of the label vectors before they were scaled to length 1


@dataclass(frozen=True, eq=False)
class TwinVectors:
    """Word vectors, the residual layer of the texts' side, label vectors, and the scale of the cosines.

    A folder of an earlier version has neither `label_side` nor `clusters`; few labels have no clusters.
    """

    words: np.ndarray  # (words, width) float32
    text_layer: np.ndarray  # (width, width) float32
    labels: np.ndarray  # (labels, width) float32, of unit length
    scale: float
    label_side: LabelSide | None = None
    clusters: PointClusters | None = None  # of the label vectors

    @property
    def known_label_side(self) -> LabelSide:
        """The label side; InputError where it was not kept."""
        if self.label_side is None:
            raise InputError(
                "a twin of an earlier version, which did not keep how its label vectors came about",
                expected="one that this version trained",
            )
        return self.label_side

    def with_words(self, places: np.ndarray, columns: int) -> TwinVectors:
        """The same with the words at `places` (words,) among `columns`; new ones start as words do."""
        words = first_words(columns, self.words.shape[1], 0, "twin/later words", len(self.words))
        words[places] = self.words
        return replace(self, words=words)

    def with_labels(self, bags: Bags) -> TwinVectors:
        """The same with a label more for each of `bags`, which is as near as its words are."""
        side = self.known_label_side
        vectors = raw_vectors(bags, self.words, side.layer)
        lengths = lengths_of(vectors)
        return replace(
            self,
            labels=np.concatenate([self.labels, vectors / lengths]),
            label_side=LabelSide(side.layer, np.concatenate([side.lengths, lengths])),
            clusters=None if self.clusters is None else self.clusters.with_points(vectors / lengths),
        )

    def clustered(self, seed: int) -> TwinVectors:
        """The same with clusters of the label vectors, if these are many."""
        many = len(self.labels) >= FEWEST_POINTS
        return replace(self, clusters=PointClusters.of(self.labels, seed) if many else None)

    def of_texts(self, bags: Bags) -> np.ndarray:
        """(texts, width) of unit length, or zero for a text without a known word."""
        return unit_vectors(bags, self.words, self.text_layer)

    def nearest(self, bags: Bags, k: int) -> TopK:
        """The k labels that are nearest to each text, by the scaled cosine.

        A text without a known word is as near to one label as to any other, so none is predicted for it.
        """
        return self._scaled(self._search.top_k(self.of_texts(bags), k), bags)

    def nearest_with_named(self, bags: Bags, k: int, named: np.ndarray) -> TopK:
        """The same, but only labels in near clusters and those `named` (texts, some) are looked at."""
        vectors = self.of_texts(bags)
        near = self._near
        if near is None or not near.reaches(k) or not np.isfinite(vectors).all():
            return self._scaled(self._search.top_k(vectors, k), bags)
        return self._scaled(near.top_k(vectors, k, named), bags)

    def _scaled(self, top: TopK, bags: Bags) -> TopK:
        """Cosines as scores; padding for texts without a known word."""
        unknown = (np.diff(bags.indptr) == 0)[:, None]
        scores = top.scores * np.float32(self.scale)
        return TopK(np.where(unknown, -1, top.ids), np.where(unknown, -np.inf, scores))

    @cached_property
    def _search(self) -> RoundedPoints:
        return RoundedPoints(self.labels)

    @cached_property
    def _near(self) -> ClusteredPoints | None:
        return None if self.clusters is None else ClusteredPoints(self.labels, self.clusters)

    def save(self, folder: FolderWriter) -> None:
        """Write `twin.safetensors`."""
        arrays = {"words": self.words, "text_layer": self.text_layer, "labels": self.labels}
        folder.tensors("twin", {**arrays, "scale": np.array([self.scale], dtype=np.float64)})
        if self.label_side is not None:
            folder.tensors("label_side", vars(self.label_side))
        if self.clusters is not None:
            folder.array("centroids", self.clusters.centroids)
            folder.array("owners", self.clusters.owners)

    @staticmethod
    def load(folder: FolderReader, words: int, labels: int, width: int) -> TwinVectors:
        """What `save` wrote, checked."""
        shapes = {
            "words": (words, width),
            "text_layer": (width, width),
            "labels": (labels, width),
            "scale": (1,),
        }
        vectors = _finite(folder, "twin", shapes)
        scale = float(vectors.pop("scale")[0])
        side = None
        if folder.has("label_side.safetensors"):
            of_side = {"layer": (width, width), "lengths": (labels, 1)}
            side = LabelSide(**_finite(folder, "label_side", of_side))
        clusters = _clusters(folder, labels, width) if folder.has("owners.npy") else None
        return TwinVectors(**vectors, scale=scale, label_side=side, clusters=clusters)


def _clusters(folder: FolderReader, labels: int, width: int) -> PointClusters:
    """The clusters of the labels; DamagedFolderError if a label is in none of them."""
    centroids = folder.array("centroids", dtype=np.float32, shape=(None, width))
    owners = folder.array("owners", dtype=np.int32, shape=(labels,))
    if len(owners) and not 0 <= owners.min() <= owners.max() < len(centroids):
        problem = f"clusters {owners.min()}..{owners.max()} of labels"
        expected = f"numbers below {len(centroids)}"
        raise DamagedFolderError(problem, expected=expected, path=folder.path / "owners.npy")
    return PointClusters(centroids, owners)


def _finite(folder: FolderReader, name: str, shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """The tensors of a file as float32; InputError if a number is not finite."""
    arrays = folder.tensors(name, shapes=shapes)
    for what, array in arrays.items():
        if array.dtype.kind != "f" or not bool(np.isfinite(array).all()):
            path = folder.path / f"{name}.safetensors"
            raise InputError(f"found {what} of {array.dtype}", expected="finite numbers", path=path)
    return {what: np.ascontiguousarray(array, dtype=np.float32) for what, array in arrays.items()}


class TwinNetwork(ArrayNetwork):
    """Word vectors `words` and free label vectors `free`; `label_bags` are the label texts."""

    table_optimiser = RoundedRowAdam

    def __init__(self, words: np.ndarray, free: np.ndarray, label_bags: Bags, *, scale: float) -> None:
        self.words, self.free = words, free  # (words, width), (labels, width)
        width = words.shape[1]
        self.text_layer, self.label_layer = np.zeros((2, width, width), dtype=np.float32)
        self.log_scale = np.log(np.array([scale], dtype=np.float32))
        self.label_bags = label_bags
        self._scratch = np.full(len(words), -1, dtype=np.int32)
        dense = {
            "text_layer": self.text_layer,
            "label_layer": self.label_layer,
            "log_scale": self.log_scale,
        }
        super().__init__({"words": words, "free": free}, dense)

    def loss(self, texts: Bags, labels: np.ndarray, targets: BatchTargets, discount: np.ndarray) -> ArrayLoss:
        """The decoupled softmax of texts over `labels` (distinct ids), by which the targets are numbered.

        `discount` (labels,) is that of the loss.
        """
        bags = joined([texts, self.label_bags.take(labels)])
        sums = bags.sum(self.words)  # (texts + labels, width)
        text = Side.of(sums[: len(texts)], self.text_layer)
        label = Side.of(sums[len(texts) :], self.label_layer, self.free[labels])
        scaled = text.units * np.exp(self.log_scale)
        value, by_score = decoupled_softmax(scaled @ label.units.T, targets, discount)  # (texts, labels)
        of_text = by_score @ label.units
        of_text *= np.exp(self.log_scale)
        of_scale = np.vdot(of_text, text.units)
        of_label = by_score.T @ scaled
        text_sums, text_layer, _ = text.backward(of_text)
        label_sums, label_layer, free = label.backward(of_label)
        used, (bags,) = share_words([bags], self._scratch)
        words = bags.transposed(len(used)).sum(np.concatenate([text_sums, label_sums]))  # (used, width)
        dense = {
            "text_layer": text_layer,
            "label_layer": label_layer,
            "log_scale": np.array([of_scale], dtype=np.float32),
        }
        return ArrayLoss(value, {"words": (used, words), "free": (labels, free)}, dense)

    def vectors(self) -> TwinVectors:
        """The network as it is now, ready to predict; arrays share their memory with it where they can."""
        labels = raw_vectors(self.label_bags, self.words, self.label_layer)
        labels += self.free
        side = LabelSide(self.label_layer, lengths_of(labels))
        labels /= side.lengths
        return TwinVectors(self.words, self.text_layer, labels, float(np.exp(self.log_scale[0])), side)


def new_network(
    rows: Bags, label_bags: Bags, words: int, data: Dataset, settings: TwinSettings, seed: int
) -> TwinNetwork:
    """An untrained network: a random projection of TF-IDF vectors, so that it matches texts by their words.

    A label without a known word starts at the mean vector of its rows; without rows too, at a random one.
    """
    width = settings.width
    table = first_words(words, width, seed, "twin/words")
    free = np.zeros((len(label_bags), width), dtype=np.float32)
    bare = np.flatnonzero(np.diff(label_bags.indptr) == 0)
    free[bare] = _free_of_bare(bare, rows, data, table, seed)
    return TwinNetwork(table, free, label_bags, scale=settings.scale)


def known_network(
    vectors: TwinVectors, rows: Bags, label_bags: Bags, data: Dataset, seed: int
) -> TwinNetwork:
    """A network that gives these vectors, for labels of which the first are theirs; others start as above."""
    side, known = vectors.known_label_side, len(vectors.labels)
    free = np.zeros((len(label_bags), vectors.words.shape[1]), dtype=np.float32)
    free[:known] = vectors.labels * side.lengths
    free[:known] -= raw_vectors(label_bags.slice(0, known), vectors.words, side.layer)
    bare = known + np.flatnonzero(np.diff(label_bags.indptr[known:]) == 0)
    free[bare] = _free_of_bare(bare, rows, data, vectors.words, seed)
    network = TwinNetwork(vectors.words, free, label_bags, scale=vectors.scale)
    network.put({"text_layer": vectors.text_layer, "label_layer": side.layer})
    return network


def _free_of_bare(bare: np.ndarray, rows: Bags, data: Dataset, table: np.ndarray, seed: int) -> np.ndarray:
    """(bare, width): the first free vectors of labels without a known word."""
    width = table.shape[1]
    if not len(bare):
        return np.empty((0, width), dtype=np.float32)
    means = data.weighted_targets()[:, bare].T @ rows.sum(table)
    means /= lengths_of(means)
    lost = np.abs(means).max(axis=1) == 0
    draws = stream(seed, "twin/free").standard_normal((len(bare), width), dtype=np.float32)
    return np.where(lost[:, None], draws / np.float32(width**0.5), means)


def first_words(words: int, width: int, seed: int, drawn: str, place: int = 0) -> np.ndarray:
    """(words, width) float32: word vectors before training, of length 1 in expectation."""
    table = stream(seed, drawn, place).standard_normal((words, width), dtype=np.float32)
    table /= np.float32(width**0.5)
    return table
