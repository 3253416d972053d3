"""The network of `twin`, and the phase that trains it. Settings and what was measured are in `twin`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets, TargetRows
from tailwright.data.dataset import Dataset
from tailwright.encoders.bags import Bags, bag_sum, share_words
from tailwright.encoders.joined_bags import BagJoiner
from tailwright.encoders.row_table import RowTable
from tailwright.kernels.bags import number_locally
from tailwright.streams import stream
from tailwright.training.batches import BatchDrawer, BatchMix
from tailwright.training.losses import BlockPairs, decoupled_softmax
from tailwright.training.phases import Phase, Plan
from tailwright.training.watch import Watch
from tailwright.training.weights import Arrays

ROWS_A_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class TwinNetwork:
    """The parts that are learnt, by what they do; `label_bags` are the label texts."""

    words: RowTable  # (words, width)
    free: RowTable  # (labels, width)
    query_block: torch.Tensor  # (width, width)
    label_block: torch.Tensor  # (width, width)
    log_scale: torch.Tensor  # (1,)
    label_bags: Bags

    @property
    def parts(self) -> Mapping[str, RowTable | torch.Tensor]:
        return {
            "words": self.words,
            "free": self.free,
            "query_block": self.query_block,
            "label_block": self.label_block,
            "log_scale": self.log_scale,
        }

    @property
    def scale(self) -> float:
        return float(self.log_scale.detach().exp())

    def query_vectors(self, bags: Bags) -> np.ndarray:
        """(rows, width) of unit length, or zero for a text without a known word."""
        return query_vectors(bags, self.words.weight, self.query_block.detach())

    def label_vectors(self) -> np.ndarray:
        """(labels, width) of unit length."""

        def encode(bags: Bags, start: int, end: int) -> torch.Tensor:
            summed = torch.from_numpy(bags.sum(self.words.weight))
            free = torch.from_numpy(self.free.weight[start:end])
            return unit(residual(summed, self.label_block.detach()) + free)

        return _in_blocks(self.label_bags, self.words.weight.shape[1], encode)


def new_network(
    rows: Bags,
    label_bags: Bags,
    words: int,
    data: Dataset,
    *,
    width: int,
    scale: float,
    seed: int,
) -> TwinNetwork:
    """An untrained network: a random projection of TF-IDF vectors, so that it matches texts by their words.

    A label without a known word starts at the mean vector of its rows; without rows too, at a random one.
    """
    table = stream(seed, "twin/words").standard_normal((words, width), dtype=np.float32)
    table /= np.float32(width**0.5)
    free = np.zeros((len(label_bags), width), dtype=np.float32)
    bare = np.flatnonzero(np.diff(label_bags.indptr) == 0)
    if len(bare):
        means = unit(torch.from_numpy(data.weighted_targets()[:, bare].T @ rows.sum(table))).numpy()
        lost = np.abs(means).max(axis=1) == 0
        draws = stream(seed, "twin/free").standard_normal((len(bare), width), dtype=np.float32)
        free[bare] = np.where(lost[:, None], draws / np.float32(width**0.5), means)
    return TwinNetwork(
        RowTable(table),
        RowTable(free),
        torch.zeros(width, width),
        torch.zeros(width, width),
        torch.log(torch.tensor([scale])),
        label_bags,
    )


class SampledNegatives:
    """The labels that all rows of a batch are scored against: its positives, and `count` drawn at random."""

    def __init__(self, targets: TargetRows, count: int) -> None:
        self.targets, self.count = targets, min(count, targets.labels)
        self._scratch = np.full(targets.labels, -1, dtype=np.int32)

    def beside(self, targets: BatchTargets, random: np.random.Generator) -> np.ndarray:
        """(block,) int32, ascending: the labels of a batch."""
        drawn = random.integers(0, max(self.targets.labels, 1), self.count, dtype=np.int32)
        block: np.ndarray = number_locally(np.concatenate([targets.labels, drawn]), self._scratch)[0]
        return block

    def log_inclusion_probabilities(self, batch: int) -> np.ndarray:
        """(labels,) float32: the logarithm of the probability that a label is among those of a batch.

        A label is there as a positive of one of the rows or by being drawn; positives that a mix adds do not
        count.
        """
        rows, labels = max(len(self.targets), 1), max(self.targets.labels, 1)
        carried = self.targets.counts() / rows
        missed = (1 - carried) ** min(batch, rows) * (1 - 1 / labels) ** self.count
        return np.log(np.maximum(1 - missed, 1 / labels)).astype(np.float32)


class TwinPhase(Phase):
    """Decoupled softmax of each row's labels against the labels that its batch shares."""

    def __init__(
        self,
        network: TwinNetwork,
        texts: BagJoiner,
        data: Dataset,
        plan: Plan,
        *,
        negatives: int,
        correction: float,
        mixes: Sequence[BatchMix],
        validate: Callable[[], float] | None,
        watch: Watch,
    ) -> None:
        super().__init__("twin", len(data), plan)
        self.network, self.texts = network, texts
        self.draw = BatchDrawer(data, mixes)
        self.negatives = SampledNegatives(self.draw.targets, negatives)
        log_probabilities = self.negatives.log_inclusion_probabilities(plan.batch)
        self.discount = torch.from_numpy(correction * log_probabilities)
        self._validate, self._watch = validate, watch
        self._scratch = np.full(len(network.words.weight), -1, dtype=np.int32)

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        network = self.network
        batch = self.draw(rows, random)
        block = self.negatives.beside(batch.targets, random)
        parts = [self.texts.take(rows, batch.appended), network.label_bags.take(block)]
        words, (queries, labels) = share_words(parts, self._scratch)
        vectors = network.words.rows(words)
        query = unit(residual(bag_sum(vectors, queries), network.query_block))  # (batch, width)
        text = residual(bag_sum(vectors, labels), network.label_block)
        label = unit(text + network.free.rows(block))  # (block, width)
        scores = network.log_scale.exp() * (query @ label.T)  # (batch, block)
        targets = batch.targets.among(block)
        positives = BlockPairs.of(targets.rows, targets.labels, targets.values)
        ignored = BlockPairs.of(targets.ignored_rows, targets.ignored, np.ones(len(targets.ignored)))
        weights, discount = torch.from_numpy(targets.weights), self.discount[torch.from_numpy(block)]
        return decoupled_softmax(scores, positives, ignored, weights, discount)

    def validate(self) -> float | None:
        return None if self._validate is None else self._validate()

    def watched(self) -> Mapping[str, float]:
        return self._watch()


def query_vectors(bags: Bags, words: np.ndarray, block: torch.Tensor) -> np.ndarray:
    """(rows, width): the vectors of texts, with `words` (words, width) and the residual `block`."""

    def encode(bags: Bags, start: int, end: int) -> torch.Tensor:
        return unit(residual(torch.from_numpy(bags.sum(words)), block))

    return _in_blocks(bags, words.shape[1], encode)


def residual(vectors: torch.Tensor, block: torch.Tensor) -> torch.Tensor:
    """x + relu(x) B: with B zero it changes nothing."""
    return vectors + functional.relu(vectors) @ block


def unit(vectors: torch.Tensor) -> torch.Tensor:
    """Each row scaled to length 1; a row of zeros stays."""
    return functional.normalize(vectors, dim=1)


def _in_blocks(bags: Bags, width: int, encode: Callable[[Bags, int, int], torch.Tensor]) -> np.ndarray:
    """`encode` over blocks of bags, so that what lies between is small."""
    out = np.empty((len(bags), width), dtype=np.float32)
    for start in range(0, len(bags), ROWS_A_BLOCK):
        end = min(start + ROWS_A_BLOCK, len(bags))
        out[start:end] = encode(bags.slice(start, end), start, end).numpy()
    return out
