"""The training of attentionxml's tree: a phase a level, from the top down.

| a level | of a row learns |
|---|---|
| the first | all its nodes |
| any other | the children of a few nodes of the level above, and nodes at random where these are fewer |

Those few are the row's true nodes and then the ones that the level above ranks highest; where more than the
beam are true, the best-scored of them. They come out of networks that are frozen by then: they are found
when a phase first asks for them, and found again by a training that is resumed, never checkpointed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import CsrParts, csr_parts
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.reading import TokenReader
from tailwright.encoders.token_batches import bucketed_order
from tailwright.evaluation.ranking import TopK
from tailwright.heads.batch_targets import BatchTargets
from tailwright.kernels.bags import gather_rows
from tailwright.models.attentionxml.network import TreeNetwork, Truth, level_name
from tailwright.models.shared.text_network import answered
from tailwright.training.phases import Phase, Plan
from tailwright.training.weights import Arrays
from tailwright.training.workplace import Workplace


class LevelAnswers:
    """What the network of a level says of rows; the levels above it, which are frozen, are asked once."""

    def __init__(self, network: TreeNetwork, number: int, tokens: TokenRows) -> None:
        self.network, self.number, self.tokens = network, number, tokens
        self._beams: TopK | None = None

    def __call__(self, k: int) -> TopK:
        """The k best nodes of the level for each row."""
        if self._beams is None and self.number:
            self._beams = self.network.beams(self.number - 1, self.tokens)
        return answered(self.tokens.lengths, lambda rows: self._top_k(rows, k), k)

    def _top_k(self, rows: np.ndarray, k: int) -> TopK:
        beam = self._beams
        own = None if beam is None else TopK(beam.ids[rows], beam.scores[rows])
        return self.network.log_odds(self.number, self.tokens.batch(rows), own, k)


class LevelPhase(Phase):
    """Trains one level; `corpora` are those of all levels up to it, over their nodes."""

    def __init__(
        self,
        network: TreeNetwork,
        tokens: TokenRows,
        corpora: Sequence[Corpus],
        plan: Plan,
        *,
        work: Workplace,
        validate: Callable[[], float] | None = None,
        watch: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self.number = len(corpora) - 1
        super().__init__(level_name(self.number), len(tokens), plan)
        self.network, self.level = network, network.levels[self.number]
        self.reader = TokenReader(self.level.encoder, tokens)
        self.targets = LevelTargets(corpora[-1].train)
        self._above = [LevelTargets(corpus.train) for corpus in corpora[:-1]]
        self._work, self._validate, self._watch = work, validate, watch
        self._parents: TopK | None = None

    def prepare(self, epoch: int, seed: int) -> Arrays:
        if epoch == 0 and self.number:
            self.network.start_from_above(self.number)
        order = bucketed_order(self.reader.lengths, self.plan.batch, seed, self.name, epoch)
        return {"order": order}

    def loss(self, rows: np.ndarray, random: np.random.Generator, epoch: Arrays) -> torch.Tensor:
        seen = self.reader(rows, random)
        assert seen.mask is not None
        device = seen.states.device
        if self.number == 0:
            head = self.level.whole_head(learns=True)
            return head.loss(seen.states, seen.mask, self.targets(rows, device))
        nodes, _ = self.network.children(self.number, self.parents(rows))
        head, distinct, places = self.level.head(filled(nodes, self.level.width, random), learns=True)
        return head.loss(
            seen.states,
            seen.mask,
            self.targets(rows, device, distinct),
            candidates=torch.from_numpy(places).to(device),
        )

    def parents(self, rows: np.ndarray) -> TopK:
        """The nodes of the level above whose children some rows learn."""
        if self._parents is None:
            with self._work.phase(f"{self.name} candidates"), torch.no_grad():
                self._parents = self.network.beams(self.number - 1, self.reader.tokens, self._truth)
        assert self._parents is not None
        return TopK(self._parents.ids[rows], self._parents.scores[rows])

    def _truth(self, rows: np.ndarray) -> Sequence[Truth]:
        return [targets.truth(rows) for targets in self._above]

    def validate(self) -> float | None:
        return None if self._validate is None else self._validate()

    def watched(self) -> Mapping[str, float]:
        return self._watch()


class LevelTargets:
    """The targets, weights and ignored pairs of rows over the nodes of a level."""

    def __init__(self, data: Dataset) -> None:
        self._targets, self._ignored = csr_parts(data.targets), csr_parts(data.ignored)
        self._weights, self._nodes = data.weights, data.labels

    def __call__(
        self, rows: np.ndarray, device: torch.device, among: np.ndarray | None = None
    ) -> BatchTargets:
        """Those of the rows at these places; nodes as places `among` some, ascending, the others left out."""
        positives, ignored = gather_rows(*self._targets, rows), gather_rows(*self._ignored, rows)
        if among is not None:
            positives, ignored = placed(positives, among), placed(ignored, among)
        return BatchTargets.of(positives, self._weights[rows], ignored[:2], device)

    def truth(self, rows: np.ndarray) -> Truth:
        """Tells which nodes, in lists (rows, nodes), are targets of these rows."""
        ends, nodes, _ = gather_rows(*self._targets, rows)
        true = np.repeat(np.arange(len(rows)), np.diff(ends)) * np.int64(self._nodes) + nodes

        def is_true(lists: np.ndarray) -> np.ndarray:
            return np.isin(np.arange(len(lists))[:, None] * np.int64(self._nodes) + lists, true)

        return is_true


def placed(parts: CsrParts, among: np.ndarray) -> CsrParts:
    """CSR rows with places `among` (ascending) instead of numbers; entries that are not among it leave.

    >>> rows = np.array([0, 2, 3]), np.array([4, 7, 9]), np.ones(3)
    >>> ends, places, values = placed(rows, np.array([7, 9]))
    >>> ends.tolist(), places.tolist()
    ([0, 1, 2], [0, 1])
    """
    ends, numbers, values = parts
    places = np.searchsorted(among, numbers)
    kept = places < len(among)
    kept[kept] = among[places[kept]] == numbers[kept]
    counts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
    return counts[ends], places[kept].astype(np.int32), values[kept]


def filled(lists: np.ndarray, width: int, random: np.random.Generator) -> np.ndarray:
    """The lists (rows, size) of distinct numbers below `width` with random ones in the places of -1.

    Uniform; a draw that is in the list already leaves its place empty.
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
