"""The networks of attentionxml's tree, one a level, and the search from the top to the labels.

A level has an encoder, a label attention over its nodes and layers on it. The first level scores all its
nodes; any other scores the children of the nodes that the level above found best. The chance of a node is
that of the one above times the sigmoid of its own score. Products of chances are sums of their logarithms
here, of which the answer is the log-odds: it ranks as the chance does, also where that is as good as 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from tailwright.data.text.sequences import TokenBatch, TokenRows
from tailwright.encoders.bilstm import BiLstm, BiLstmSettings
from tailwright.encoders.reading import Read, read
from tailwright.encoders.row_table import RowTable
from tailwright.evaluation.ranking import PADDING, TopK, top_k_of_scores
from tailwright.heads.shared_mlp import SharedMlpHead
from tailwright.kernels.bags import number_locally
from tailwright.models.attentionxml.tree import LabelLevels
from tailwright.models.shared.text_network import TextNetwork, answered
from tailwright.training.parts import Parts, put_weights, weights_of

# Which of some nodes (rows, nodes) are true, for the rows of a batch.
Truth = Callable[[np.ndarray], np.ndarray]


class Level:
    """The network of one level; `attention` (nodes, width) is a table, of which a batch needs some rows."""

    def __init__(self, encoder: BiLstm, head: SharedMlpHead) -> None:
        self.encoder = encoder
        self.attention = RowTable(head.attention.numpy())
        self.weights, self.biases = head.weights, head.biases
        self._scratch = np.full(len(self.attention.weight), -1, dtype=np.int32)

    @property
    def width(self) -> int:
        return len(self.attention.weight)

    def shared_parts(self, prefix: str) -> Parts:
        """What a level takes over from the one above: all but the attention."""
        head = SharedMlpHead(torch.empty(0), self.weights, self.biases).parts(f"{prefix}.head")
        layers = {name: part for name, part in head.items() if name != f"{prefix}.head.attention"}
        return {**self.encoder.parts(f"{prefix}.encoder"), **layers}

    def parts(self, prefix: str) -> Parts:
        return {**self.shared_parts(prefix), f"{prefix}.head.attention": self.attention}

    def to(self, device: torch.device) -> None:
        """Moves all but the tables."""
        self.encoder.to(device)
        for part in (*self.weights, *self.biases):
            part.data = part.data.to(device)

    def head(self, nodes: np.ndarray, *, learns: bool) -> tuple[SharedMlpHead, np.ndarray, np.ndarray]:
        """The head over the nodes that are named in lists (rows, width) of them, -1 being none.

        Also these nodes, each once and ascending, and the lists with their places among them.
        """
        there = nodes >= 0
        distinct, local = number_locally(nodes[there].astype(np.int32), self._scratch)
        rows = self.attention.rows(distinct) if learns else torch.from_numpy(self.attention.weight[distinct])
        places = np.full(nodes.shape, -1, dtype=np.int64)
        places[there] = local
        return SharedMlpHead(rows.to(self.encoder.device), self.weights, self.biases), distinct, places

    def whole_head(self, *, learns: bool) -> SharedMlpHead:
        """The head over all nodes of the level."""
        every = np.arange(self.width, dtype=np.int32)
        rows = self.attention.rows(every) if learns else torch.from_numpy(self.attention.weight)
        return SharedMlpHead(rows.to(self.encoder.device), self.weights, self.biases)


@dataclass(frozen=True)
class LevelShape:
    """The sizes that all levels have in common."""

    encoder: BiLstmSettings
    layers: tuple[int, ...]
    beam: int
    learn_words: bool


class TreeNetwork(TextNetwork):
    """The networks of all levels over `tree`; `table` (ids, width) are the word vectors to start from."""

    def __init__(self, tree: LabelLevels, table: np.ndarray, shape: LevelShape, *, seed: int) -> None:
        self.tree, self.shape = tree, shape
        self.levels: list[Level] = []
        for number in range(len(tree)):
            name = f"attentionxml/{level_name(number)}"
            # Words that do not learn are the same at all levels; others start from those of the level above.
            words = table if number == 0 or not shape.learn_words else np.zeros_like(table)
            encoder = BiLstm(words, shape.encoder, seed=seed, name=f"{name}/encoder")
            if number and not shape.learn_words:
                encoder.words = self.levels[0].encoder.words
            head = SharedMlpHead.new(tree.width(number), encoder.width, shape.layers, seed, f"{name}/head")
            self.levels.append(Level(encoder, head))

    def level_parts(self, number: int) -> Parts:
        """What is a level's own, by name."""
        name = level_name(number)
        found = self.levels[number].parts(name)
        shares = number > 0 and not self.shape.learn_words
        return {key: part for key, part in found.items() if not shares or key != f"{name}.encoder.words"}

    def parts(self) -> Mapping[str, RowTable | torch.Tensor]:
        levels = [self.level_parts(number) for number in range(len(self.levels))]
        return {name: part for level in levels for name, part in level.items()}

    def to(self, device: torch.device) -> None:
        for level in self.levels:
            level.to(device)

    def start_from_above(self, number: int) -> None:
        """Give a level the weights of the one above, but for the attention, which is over other nodes."""
        above, own = (self.levels[n].shared_parts("level") for n in (number - 1, number))
        put_weights(own, weights_of(above))

    def top_k(self, batch: TokenBatch, k: int) -> TopK:
        last = len(self.levels) - 1
        return self.log_odds(last, batch, self.beam(last - 1, batch), k)

    def beam(self, number: int, batch: TokenBatch, truth: Sequence[Truth] = ()) -> TopK | None:
        """The best nodes of a level with the logarithm of their chances; None above the first level.

        With `truth`, that of each level, true nodes come before all others: those of best score first.
        """
        found = None
        for level in range(number + 1):
            found = self._best(level, batch, found, truth[level] if truth else None)
        return found

    def beams(
        self,
        number: int,
        tokens: TokenRows,
        truth: Callable[[np.ndarray], Sequence[Truth]] = lambda rows: (),
    ) -> TopK | None:
        """`beam` of all rows; `truth` is asked for rows by their places."""
        if number < 0:
            return None
        size = self.beam_size(number)

        def ask(rows: np.ndarray) -> TopK:
            found = self.beam(number, tokens.batch(rows), truth(rows))
            assert found is not None
            return found

        return answered(tokens.lengths, ask, size)

    def beam_size(self, number: int) -> int:
        """Nodes of a level that are looked into."""
        reached = self.tree.width(0)
        for level in range(number):
            reached = min(reached, self.shape.beam) * self.tree.children[level].shape[1]
        return min(reached, self.shape.beam)

    def log_odds(self, number: int, batch: TokenBatch, beam: TopK | None, k: int) -> TopK:
        """The k best nodes of a level, equal ones by smaller node; `beam` is that of the level above."""
        nodes, chances = self._log_chances(number, batch, beam)
        odds = log_odds(chances)
        order = np.argsort(np.where(nodes < 0, self.tree.width(number), nodes), axis=1, kind="stable")
        ids, ordered = (np.take_along_axis(values, order, axis=1) for values in (nodes, odds))
        # Rounded first: what looks equal is ranked as equal.
        top = top_k_of_scores(ordered.astype(np.float32), k)
        taken = np.take_along_axis(ids, np.maximum(top.ids, 0).astype(np.int64), axis=1)
        real = (top.ids >= 0) & (taken >= 0)
        return TopK(np.where(real, taken, PADDING).astype(np.int32), np.where(real, top.scores, -np.inf))

    def _best(self, number: int, batch: TokenBatch, beam: TopK | None, truth: Truth | None) -> TopK:
        nodes, chances = self._log_chances(number, batch, beam)
        second = ~truth(nodes) if truth else np.zeros(nodes.shape, dtype=bool)
        order = np.lexsort((nodes, -chances, second), axis=1)[:, : self.beam_size(number)]
        ids, best = (np.take_along_axis(values, order, axis=1) for values in (nodes, chances))
        return TopK(ids.astype(np.int32), best)

    @torch.no_grad()
    def _log_chances(
        self, number: int, batch: TokenBatch, beam: TopK | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(nodes, logarithms of their chances), both (rows, candidates); -1 and minus infinity for none."""
        level = self.levels[number]
        seen = read(level.encoder, batch)
        if beam is None:
            own = _scores(level.whole_head(learns=False), seen)
            return np.broadcast_to(np.arange(level.width), own.shape), own
        nodes, above = self.children(number, beam)
        head, _, places = level.head(nodes, learns=False)
        return nodes, above + _scores(head, seen, places)

    def children(self, number: int, beam: TopK) -> tuple[np.ndarray, np.ndarray]:
        """(nodes of a level that are below those of the beam, what the beam says of these), (rows, nodes)."""
        table = self.tree.children[number - 1]
        nodes = table[beam.ids].reshape(len(beam), -1)
        return nodes, np.repeat(beam.scores.astype(np.float64), table.shape[1], axis=1)


def level_name(number: int) -> str:
    return f"level-{number + 1}"


def log_odds(log_chances: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) of log(p), float64; exact to the last digits for p near 0 and near 1.

    >>> log_odds(np.log([0.5, 1e-30])).round(3).tolist()
    [0.0, -69.078]
    """
    smallest = np.finfo(np.float64).tiny  # a chance of 1 has log-odds of 708, not infinity
    below = np.minimum(log_chances.astype(np.float64), -smallest)
    found: np.ndarray = below - np.log(-np.expm1(below))
    return found


def _scores(head: SharedMlpHead, seen: Read, places: np.ndarray | None = None) -> np.ndarray:
    """(rows, nodes) float64: the logarithm of the sigmoid of each score."""
    assert seen.mask is not None
    listed = None if places is None else torch.from_numpy(places).to(seen.states.device)
    scores = head.scores(seen.states, seen.mask, listed).double()
    found: np.ndarray = functional.logsigmoid(scores).cpu().numpy()
    return found
