"""`AttentionXml`: a `BiLstm` and a `SharedMlpHead`, or a tree of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.bilstm import BiLstm
from tailwright.encoders.mixing import ContextVectors
from tailwright.evaluation.ranking import TopK
from tailwright.heads.label_attention import NUMBERS_A_BLOCK
from tailwright.heads.shared_mlp import SharedMlpHead
from tailwright.models import models
from tailwright.models.attentionxml import CARD, AttentionXmlSettings
from tailwright.models.attentionxml.network import TreeNetwork, level_name
from tailwright.models.attentionxml.phases import LevelPhase, LevelRanking
from tailwright.models.attentionxml.tree import LabelLevels, label_levels
from tailwright.models.shared.memory import FLOAT, training_need
from tailwright.models.shared.texts import WordTexts
from tailwright.models.shared.token_model import TokenModel
from tailwright.models.shared.token_network import TokenNetwork
from tailwright.models.shared.validation import validator
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.hidden_door import Stretch
from tailwright.training.memory import MemoryNeed
from tailwright.training.phases import Phase, Plan
from tailwright.training.workplace import Workplace


@models.register
class AttentionXml(TokenModel):
    """Label attention over a BiLSTM, flat or as a tree by the number of labels."""

    card = CARD
    Settings = AttentionXmlSettings
    settings: AttentionXmlSettings
    texts: WordTexts
    network: TokenNetwork | TreeNetwork

    def build(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        chosen, tree, labels = self.settings, None, len(corpus.labels)
        nodes = chosen.nodes_of(labels) if chosen.as_tree(labels) else None
        chosen.check_levels(0 if nodes is None else len(nodes) + 1)
        if nodes is not None:
            with work.phase("tree", nodes=list(nodes)):
                tree = label_levels(corpus, nodes, min_count=chosen.words.min_count, seed=seed)
        self.texts, table = WordTexts.of(chosen.words, corpus.train.texts, seed=seed, work=work)
        self.network = self._network(tree, table, labels, seed)

    def _network(
        self, tree: LabelLevels | None, table: np.ndarray, labels: int, seed: int
    ) -> TokenNetwork | TreeNetwork:
        chosen = self.settings
        if tree is not None:
            return TreeNetwork(tree, table, chosen, seed=seed)
        encoder = BiLstm(table, chosen.lstm, seed=seed, name="attentionxml/encoder")
        head = SharedMlpHead(labels, encoder.width, chosen.layers, seed=seed, name="attentionxml/head")
        return TokenNetwork(encoder, head)

    def batch_bytes(self, rows: int, tokens: TokenRows) -> float:
        """A word's vector, reversed and with dropout, and the gates of the LSTM in each direction; four
        arrays of
        a block of labels, and what enters each layer."""
        chosen, longest = self.settings, int(tokens.lengths.max(initial=0))
        words = rows * longest * (5 * chosen.words.width + 2 * 14 * chosen.lstm.hidden)
        return FLOAT * (words + NUMBERS_A_BLOCK * (5 + 2 * len(chosen.layers)))

    def level_rates(self, number: int) -> dict[str, float | None]:
        """The learning rate of each module that is trained at a level of the tree."""
        level, rate = f"levels.{number}", self.settings.rate
        # Words that do not learn are the first level's, which the others share.
        frozen = {f"{level}.encoder.words": None} if not (number or self.settings.words.learn_words) else {}
        return {level: rate, **frozen}

    def memory_need(self, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        if isinstance(self.network, TokenNetwork):
            return super().memory_need(tokens, corpus)
        training, words = self.settings.training, self.settings.words
        batch = self.batch_bytes(min(training.micro_batch or training.batch, len(tokens)), tokens)
        validates, levels = bool(corpus.valid), range(len(self.network.levels))
        needs = [
            training_need(
                self.network,
                self.level_rates(level),
                self.settings.level_training(level),
                batch=batch,
                validates=validates,
            )
            for level in levels
        ]
        # Tables of words below the first level are zeros until their level begins, which take no memory yet.
        below = (len(levels) - 1) * self.texts.words.size * words.width * FLOAT if words.learn_words else 0
        largest = max(needs, key=lambda need: need.megabytes)
        return MemoryNeed({**largest.items, "the words of lower levels": below})

    def phases(self, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace) -> Sequence[Phase]:
        network = self.network
        if isinstance(network, TokenNetwork):
            return super().phases(tokens, corpus, seed=seed, work=work)
        levels = range(len(network.levels))
        corpora = [network.tree.corpus(corpus, number) for number in levels]
        phases = []
        for number in levels:
            training = self.settings.level_training(number)
            plan = Plan.of(training, self.level_rates(number))
            last = number == levels[-1]
            cuts = [Stretch(0, plan.epochs, ())]
            if last:  # mixes are about labels, which are the last level
                cuts = self.stretches(corpus, network.mix_points, training, seed=seed, work=work)
            phases += [
                LevelPhase(
                    network,
                    tokens,
                    corpora[: number + 1],
                    plan.between(stretch.begin, stretch.end),
                    stretch,
                    work=work,
                    key=self.key_of(
                        level_name(number), stretch, corpus, seed, ends=last and stretch is cuts[-1]
                    ),
                    validate=self._level_validation(network, number, corpora[number]),
                    watch=self.watching(work) if last else dict,
                )
                for stretch in cuts
            ]
        return phases

    def _level_validation(
        self, network: TreeNetwork, number: int, corpus: Corpus
    ) -> Callable[[], float] | None:
        """What says how well a level ranks its nodes; `corpus` is over these."""
        metric = self.settings.training.metric
        return validator(
            lambda texts: LevelRanking(network, number, self.texts.tokens(texts)), corpus, metric
        )

    def ranking(
        self, texts: pa.LargeStringArray, work: Workplace, *, frozen: bool = False
    ) -> Callable[[int], TopK]:
        if isinstance(self.network, TokenNetwork):
            return super().ranking(texts, work, frozen=frozen)
        return LevelRanking(self.network, len(self.network.levels) - 1, self.texts.tokens(texts))

    def contexts(self, texts: pa.LargeStringArray) -> ContextVectors | None:
        if isinstance(self.network, TokenNetwork):
            return super().contexts(texts)
        return self.network.contexts(self.texts.tokens(texts).padded())

    def save(self, folder: FolderWriter) -> None:
        super().save(folder)
        if isinstance(self.network, TreeNetwork):
            folder.json("tree.json", {"nodes": list(self.network.tree.nodes)})
            folder.array("leaves", self.network.tree.leaves)

    def rebuild(self, folder: FolderReader, labels: int) -> None:
        self.texts, table = WordTexts.load(folder, self.settings.words)
        tree = None
        if self.settings.as_tree(labels):
            leaves = folder.array("leaves", dtype=np.int32, shape=(labels,))
            try:
                tree = LabelLevels(tuple(folder.json("tree.json")["nodes"]), leaves)
            except (KeyError, TypeError, ValueError) as error:
                raise DamagedFolderError(str(error), expected="a tree of labels", path=folder.path) from error
        self.network = self._network(tree, table, labels, 0)
