"""The networks of attentionxml's tree, one a level, and the search from the top to the labels.

A level is a `TokenNetwork` over its nodes. The first level scores all its nodes; any other scores the
children of the nodes that the level above ranks best. The probability of a node is that of the one above
times the sigmoid of its own logit. Products of probabilities are sums of their logarithms here, and the
ranking has log-odds: these rank as the probabilities do, also where those are as good as 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.data.text.sequences import TokenBatch, TokenRows
from tailwright.encoders.bilstm import BiLstm
from tailwright.encoders.mixing import ContextVectors
from tailwright.evaluation.ranking import PADDING, TopK, top_k_of_scores
from tailwright.heads.shared_mlp import SharedMlpHead
from tailwright.models.attentionxml import AttentionXmlSettings
from tailwright.models.attentionxml.tree import LabelLevels
from tailwright.models.shared.token_network import TokenNetwork, ranked
from tailwright.training.weights import put_weights, weights_of

# Which of some nodes (rows, nodes) are true, for the rows of a batch.
Truth = Callable[[np.ndarray], np.ndarray]


class TreeNetwork(nn.Module):
    """The networks of all levels over `tree`; `table` (ids, width) are the word vectors to start from.

    The attention of a level (nodes, width) is a table, of which a batch changes a few rows.
    """

    def __init__(
        self, tree: LabelLevels, table: np.ndarray, settings: AttentionXmlSettings, *, seed: int
    ) -> None:
        super().__init__()
        self.tree, self.most_beam, self.levels = tree, settings.beam, nn.ModuleList()
        learn_words = settings.words.learn_words
        for number in range(len(tree)):
            name = f"attentionxml/{level_name(number)}"
            # Words that do not learn are the same at all levels; others start from those of the level above.
            words = table if number == 0 or not learn_words else np.zeros_like(table)
            encoder = BiLstm(words, settings.lstm, seed=seed, name=f"{name}/encoder")
            if number and not learn_words:
                encoder.words = self.level(0).encoder.words
            head = SharedMlpHead(
                tree.width(number),
                encoder.width,
                settings.layers,
                seed=seed,
                name=f"{name}/head",
                sparse=True,
            )
            self.levels.append(TokenNetwork(encoder, head))

    def level(self, number: int) -> TokenNetwork:
        """The network of one level."""
        level = self.levels[number]
        assert isinstance(level, TokenNetwork)
        return level

    @property
    def mix_points(self) -> tuple[str, ...]:
        """The mix points of the last level; rows with candidates of their own have no labels in common."""
        level = self.level(-1)
        of_head = ("pairs",) if len(self.levels) > 1 else level.mix_points
        return ("tokens", *level.encoder.mix_points, *of_head)

    def start_from_above(self, number: int) -> None:
        """Give a level the weights of the one above, but for the attention, which is over other nodes."""
        above = weights_of(self.level(number - 1))
        put_weights(
            self.level(number), {k: v for k, v in above.items() if not k.startswith("head.attention")}
        )

    def top_k(self, batch: TokenBatch, k: int) -> TopK:
        last = len(self.levels) - 1
        return self.log_odds(last, batch, self.beam(last - 1, batch), k)

    def vectors(self, tokens: TokenRows) -> None:
        """Every level has states of its own: there is no one vector of a text."""

    def beam(self, number: int, batch: TokenBatch, truth: Sequence[Truth] = ()) -> TopK | None:
        """The best nodes of a level with their log-probabilities; None above the first level.

        With `truth`, that of each level, true nodes come before all others, the best-scored of them first.
        """
        beam = None
        for level in range(number + 1):
            beam = self._best(level, batch, beam, truth[level] if truth else None)
        return beam

    def beams(
        self,
        number: int,
        tokens: TokenRows,
        truth: Callable[[np.ndarray], Sequence[Truth]] = lambda rows: (),
    ) -> TopK | None:
        """`beam` of all rows; `truth` is asked for rows by their places."""
        if number < 0:
            return None

        def best(rows: np.ndarray) -> TopK:
            beam = self.beam(number, tokens.batch(rows), truth(rows))
            assert beam is not None
            return beam

        return ranked(tokens.lengths, best, self.beam_size(number))

    def beam_size(self, number: int) -> int:
        """Nodes of a level that are looked into."""
        reached = self.tree.width(0)
        for level in range(number):
            reached = min(reached, self.most_beam) * self.tree.children[level].shape[1]
        return min(reached, self.most_beam)

    def log_odds(self, number: int, batch: TokenBatch, beam: TopK | None, k: int) -> TopK:
        """The k best nodes of a level, equal ones by smaller node; `beam` is that of the level above."""
        nodes, log_probabilities = self._log_probabilities(number, batch, beam)
        odds = log_odds(log_probabilities)
        order = np.argsort(np.where(nodes < 0, self.tree.width(number), nodes), axis=1, kind="stable")
        ids, ordered = (np.take_along_axis(values, order, axis=1) for values in (nodes, odds))
        # Rounded first: what looks equal is ranked as equal.
        top = top_k_of_scores(ordered.astype(np.float32), k)
        taken = np.take_along_axis(ids, np.maximum(top.ids, 0).astype(np.int64), axis=1)
        real = (top.ids >= 0) & (taken >= 0)
        return TopK(np.where(real, taken, PADDING).astype(np.int32), np.where(real, top.scores, -np.inf))

    def _best(self, number: int, batch: TokenBatch, beam: TopK | None, truth: Truth | None) -> TopK:
        nodes, log_probabilities = self._log_probabilities(number, batch, beam)
        second = ~truth(nodes) if truth else np.zeros(nodes.shape, dtype=bool)
        order = np.lexsort((nodes, -log_probabilities, second), axis=1)[:, : self.beam_size(number)]
        ids, best = (np.take_along_axis(values, order, axis=1) for values in (nodes, log_probabilities))
        return TopK(ids.astype(np.int32), best)

    @torch.no_grad()
    def _log_probabilities(
        self, number: int, batch: TokenBatch, beam: TopK | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(nodes, their log-probabilities), both (rows, candidates); -1 and minus infinity for none."""
        level = self.level(number)
        encoded = level.encoder(batch)
        if beam is None:
            own = _log_sigmoid(level.head.logits(encoded))
            return np.broadcast_to(np.arange(self.tree.width(number)), own.shape), own
        nodes, above = self.nodes_below(number, beam)
        return nodes, above + _log_sigmoid(level.head.logits(encoded, nodes))

    def contexts(self, batch: TokenBatch) -> ContextVectors:
        """The context vectors of the last level, where a row's labels are those below its beam."""
        last = len(self.levels) - 1
        level, beam = self.level(last), self.beam(last - 1, batch)
        candidates = None if beam is None else self.nodes_below(last, beam)[0].astype(np.int64)
        vectors: ContextVectors = level.head.contexts(level.encoder(batch), candidates)
        return vectors

    def nodes_below(self, number: int, beam: TopK) -> tuple[np.ndarray, np.ndarray]:
        """(the nodes of a level below the beam, the scores of their parents), both (rows, nodes)."""
        table = self.tree.children[number - 1]
        nodes = table[beam.ids].reshape(len(beam), -1)
        return nodes, np.repeat(beam.scores.astype(np.float64), table.shape[1], axis=1)


def level_name(number: int) -> str:
    return f"level-{number + 1}"


def log_odds(log_probabilities: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) of log(p), float64; exact to the last digits for p near 0 and near 1.

    >>> log_odds(np.log([0.5, 1e-30])).round(3).tolist()
    [0.0, -69.078]
    """
    smallest = np.finfo(np.float64).tiny  # a probability of 1 has log-odds of 708, not infinity
    below = np.minimum(log_probabilities.astype(np.float64), -smallest)
    odds: np.ndarray = below - np.log(-np.expm1(below))
    return odds


def _log_sigmoid(logits: torch.Tensor) -> np.ndarray:
    """float64."""
    values: np.ndarray = functional.logsigmoid(logits.double()).cpu().numpy()
    return values
