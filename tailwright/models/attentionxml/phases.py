"""The training of attentionxml's tree: a phase a level, from the top down.

| a level | the nodes that a row learns |
|---|---|
| the first | all its nodes |
| any other | the children of a few nodes of the level above, and nodes at random where these are fewer |

Those few are the row's true nodes and then the ones that the level above ranks highest; where more than the
beam are true, the best-scored of them. They come out of networks that are frozen by then: they are computed
when a phase first asks for them, and again by a training that is resumed, never checkpointed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from tailwright.data.batch_targets import BatchTargets, TargetRows
from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.mixing import Mixing
from tailwright.encoders.reading import TokenReader
from tailwright.evaluation.ranking import TopK
from tailwright.models.attentionxml.network import TreeNetwork, Truth, level_name
from tailwright.models.shared.token_network import ranked
from tailwright.models.shared.token_phase import TokenPhase
from tailwright.training.batches import DrawnBatch
from tailwright.training.hidden_door import HiddenDoor, Stretch
from tailwright.training.named_arrays import Arrays
from tailwright.training.phases import Plan
from tailwright.training.workplace import Workplace


class LevelRanking:
    """How the network of a level ranks rows; the levels above it, which are frozen, are asked once."""

    def __init__(self, network: TreeNetwork, number: int, tokens: TokenRows) -> None:
        self.network, self.number, self.tokens = network, number, tokens
        self._beams: TopK | None = None

    def __call__(self, k: int) -> TopK:
        """The k best nodes of the level for each row."""
        if self._beams is None and self.number:
            self._beams = self.network.beams(self.number - 1, self.tokens)
        return ranked(self.tokens.lengths, lambda rows: self._top_k(rows, k), k)

    def _top_k(self, rows: np.ndarray, k: int) -> TopK:
        beams = self._beams
        beam = None if beams is None else TopK(beams.ids[rows], beams.scores[rows])
        return self.network.log_odds(self.number, self.tokens.batch(rows), beam, k)


class LevelPhase(TokenPhase):
    """Trains one level; `corpora` are those of all levels up to it, over their nodes."""

    def __init__(
        self,
        network: TreeNetwork,
        tokens: TokenRows,
        corpora: Sequence[Corpus],
        plan: Plan,
        stretch: Stretch,
        *,
        work: Workplace,
        key: Callable[[], str] | None = None,
        validate: Callable[[], float] | None = None,
        watch: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self.number, self.tree = len(corpora) - 1, network
        level = network.level(self.number)
        super().__init__(
            f"{level_name(self.number)}{stretch.name}",
            level,
            TokenReader(level.encoder, tokens),
            corpora[-1].train,
            plan,
            door=HiddenDoor(stretch.mixes),
            begin=stretch.begin,
            key=key,
            validate=validate,
            watch=watch,
        )
        self._tokens, self._work = tokens, work
        self._above = [TargetRows(corpus.train) for corpus in corpora[:-1]]
        self._parents: TopK | None = None

    def prepare(self, epoch: int, seed: int) -> Arrays:
        if self.begin + epoch == 0 and self.number:
            self.tree.start_from_above(self.number)
        return super().prepare(epoch, seed)

    def loss_of_pass(
        self, batch: DrawnBatch, mixing: Mixing | None, random: np.random.Generator
    ) -> torch.Tensor:
        if self.number == 0:
            return super().loss_of_pass(batch, mixing, random)
        parents = self.parents(batch.rows)
        encoded, learnt = self.read(batch, mixing, random)
        nodes, _ = self.tree.nodes_below(self.number, parents)
        candidates = filled(nodes, self.draw.targets.labels, random)
        if learnt is not batch.targets:
            candidates = with_positives(candidates, learnt)
        loss: torch.Tensor = self.network(encoded, learnt, candidates=candidates, mixing=mixing)
        return loss

    def parents(self, rows: np.ndarray) -> TopK:
        """The nodes of the level above whose children some rows learn."""
        if self._parents is None:
            self.tree.eval()
            with self._work.phase(f"{self.name} candidates"), torch.no_grad():
                self._parents = self.tree.beams(self.number - 1, self._tokens, self._truth)
            self.tree.train()
        assert self._parents is not None
        return TopK(self._parents.ids[rows], self._parents.scores[rows])

    def _truth(self, rows: np.ndarray) -> Sequence[Truth]:
        return [truth_of(targets(rows), targets.labels) for targets in self._above]


def truth_of(targets: BatchTargets, nodes: int) -> Truth:
    """Tells which nodes, in lists (rows, nodes), are targets of their row."""
    true = targets.rows * np.int64(nodes) + targets.labels

    def is_true(lists: np.ndarray) -> np.ndarray:
        return np.isin(np.arange(len(lists))[:, None] * np.int64(nodes) + lists, true)

    return is_true


def with_positives(lists: np.ndarray, targets: BatchTargets) -> np.ndarray:
    """The lists (rows, size) of labels with each row's positives that are not in them, -1 behind."""
    rows, labels = targets.rows, targets.labels
    missing = ~(lists[rows] == labels[:, None]).any(axis=1)
    rows, labels = rows[missing], labels[missing]
    counts = np.bincount(rows, minlength=len(lists))
    more = np.full((len(lists), int(counts.max(initial=0))), -1, dtype=lists.dtype)
    more[rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)] = labels
    return np.concatenate([lists, more], axis=1)


def filled(lists: np.ndarray, width: int, random: np.random.Generator) -> np.ndarray:
    """The lists (rows, size) of distinct numbers below `width`, with uniform draws in the places of -1.

    A draw that is in the list already leaves its place empty.
    """
    ordered = np.take_along_axis(lists, np.argsort(lists < 0, axis=1, kind="stable"), axis=1)
    empty = ordered < 0
    if not empty.any():
        return ordered
    ordered[empty] = random.integers(0, width, int(empty.sum()))
    # Equal numbers stand in the order of their places, what was drawn behind what was there.
    order = np.argsort(ordered, axis=1, kind="stable")
    numbers = np.take_along_axis(ordered, order, axis=1)
    again = np.zeros(lists.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], numbers[:, 1:] == numbers[:, :-1], axis=1)
    ordered[again] = -1
    return ordered
