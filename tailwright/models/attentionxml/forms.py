"""The two forms of attentionxml as models of their own: flat over all labels, and as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.models.attentionxml.settings import CARD, AttentionXmlSettings
from tailwright.models.shared.text_model import TextModel
from tailwright.models.shared.validation import has_valid, valid_quality
from tailwright.models.shared.word_model import WordModel, new_words
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.data.text.sequences import TokenRows
    from tailwright.data.text.vocabulary import WordVocabulary
    from tailwright.encoders.bilstm import BiLstm
    from tailwright.evaluation.ranking import TopK
    from tailwright.models.attentionxml.network import TreeNetwork
    from tailwright.models.attentionxml.tree import LabelLevels
    from tailwright.models.shared.text_output import AttendedOutput
    from tailwright.training.memory import MemoryNeed
    from tailwright.training.phases import Phase

FLOAT = 4  # bytes


class FlatAttention(WordModel):
    """One network over all labels."""

    card = CARD
    Settings = AttentionXmlSettings
    settings: AttentionXmlSettings

    def encoder(self, table: np.ndarray, seed: int) -> BiLstm:
        from tailwright.encoders.bilstm import BiLstm

        return BiLstm(table, self.settings.encoder(), seed=seed, name="attentionxml/encoder")

    def output(self, labels: int, width: int, seed: int) -> AttendedOutput:
        from tailwright.heads.shared_mlp import SharedMlpHead
        from tailwright.models.shared.text_output import AttendedOutput

        return AttendedOutput(
            SharedMlpHead.new(labels, width, self.settings.layers, seed, "attentionxml/head")
        )

    def batch_bytes(self, rows: int, tokens: TokenRows, labels: int) -> float:
        return step_bytes(self.settings, rows, int(tokens.lengths.max(initial=0)))


class TreeAttention(TextModel["TreeNetwork"]):
    """A network a level of a tree of labels."""

    card = CARD
    Settings = AttentionXmlSettings
    settings: AttentionXmlSettings
    words: WordVocabulary

    def new_network(self, corpus: Corpus, *, seed: int, work: Workplace) -> TreeNetwork:
        from tailwright.models.attentionxml.tree import label_levels

        chosen = self.settings
        nodes = chosen.nodes_of(len(corpus.labels))
        with work.phase("tree", nodes=list(nodes)):
            tree = label_levels(corpus, nodes, min_count=chosen.min_count, seed=seed)
        with work.phase("words"):
            self.words, table = new_words(chosen, corpus.train.texts, seed=seed)
        return self._network(tree, table, seed)

    def _network(self, tree: LabelLevels, table: np.ndarray, seed: int) -> TreeNetwork:
        from tailwright.models.attentionxml.network import LevelShape, TreeNetwork

        chosen = self.settings
        shape = LevelShape(chosen.encoder(), chosen.layers, chosen.beam, chosen.learn_words)
        return TreeNetwork(tree, table, shape, seed=seed)

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        return self.words.rows(texts, self.settings.max_length)

    def rates(self, network: TreeNetwork, number: int) -> dict[str, float]:
        """The learning rate of each part that is trained at a level."""
        chosen = self.settings
        own = network.level_parts(number)
        return {name: chosen.rate for name in own if chosen.learn_words or not name.endswith(".words")}

    def memory_need(self, network: TreeNetwork, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        from tailwright.models.shared.text_memory import training_need
        from tailwright.training.memory import MemoryNeed

        chosen, parts = self.settings, network.parts()
        rows = min(chosen.micro_batch or chosen.batch, len(tokens))
        batch = step_bytes(chosen, rows, int(tokens.lengths.max(initial=0)))
        needs = [
            training_need(
                parts, self.rates(network, number), chosen, batch=batch, validates=has_valid(corpus)
            )
            for number in range(len(network.levels))
        ]
        # Tables of words below the first level are empty until their level begins.
        below = (len(network.levels) - 1) * self.words.size * chosen.width * FLOAT
        largest = max(needs, key=lambda need: need.megabytes)
        return MemoryNeed({**largest.items, "the words of lower levels": below if chosen.learn_words else 0})

    def phases(
        self, network: TreeNetwork, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace
    ) -> Sequence[Phase]:
        from tailwright.models.attentionxml.phases import LevelPhase

        levels = range(len(network.levels))
        corpora = [network.tree.corpus(corpus, number) for number in levels]
        last = levels[-1]
        return [
            LevelPhase(
                network,
                tokens,
                corpora[: number + 1],
                self.settings.plan(self.rates(network, number)),
                work=work,
                validate=self._level_validation(network, number, corpora[number]),
                watch=self.watching(network, work) if number == last else dict,
            )
            for number in levels
        ]

    def answering(
        self, network: TreeNetwork, texts: pa.LargeStringArray, work: Workplace
    ) -> Callable[[int], TopK]:
        return self._level_answers(network, len(network.levels) - 1, texts)

    def _level_answers(
        self, network: TreeNetwork, number: int, texts: pa.LargeStringArray
    ) -> Callable[[int], TopK]:
        from tailwright.models.attentionxml.phases import LevelAnswers

        return LevelAnswers(network, number, self.tokens(texts))

    def _level_validation(
        self, network: TreeNetwork, number: int, corpus: Corpus
    ) -> Callable[[], float] | None:
        """What says how well a level finds its nodes; `corpus` is over these."""
        if corpus.valid is None or not len(corpus.valid):
            return None
        answer, metric = self._level_answers(network, number, corpus.valid.texts), self.settings.metric
        return lambda: valid_quality(answer, corpus, metric)

    def save(self, folder: FolderWriter) -> None:
        from tailwright.models.shared.network_files import save_parts

        self.words.save(folder.sub("words"))
        folder.json("tree.json", {"nodes": list(self.network.tree.nodes)})
        folder.array("leaves", self.network.tree.leaves)
        save_parts(folder, "network", self.network.parts())

    def load(self, folder: FolderReader, labels: int) -> None:
        from tailwright.data.text.vocabulary import WordVocabulary
        from tailwright.models.attentionxml.tree import LabelLevels
        from tailwright.models.shared.network_files import load_parts

        self.words = WordVocabulary.load(folder.sub("words"))
        leaves = folder.array("leaves", dtype=np.int32, shape=(labels,))
        try:
            tree = LabelLevels(tuple(folder.json("tree.json")["nodes"]), leaves)
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFolderError(str(error), expected="a tree of labels", path=folder.path) from error
        table = np.zeros((self.words.size, self.settings.width), dtype=np.float32)
        self.network = self._network(tree, table, 0)
        load_parts(folder, "network", self.network.parts())


def step_bytes(settings: AttentionXmlSettings, rows: int, longest: int) -> float:
    """What a step on so many rows of at most so many words holds.

    Of a word its vector, turned round and with dropout, and what either direction of the LSTM keeps of its
    gates; of the labels a block at a time, four arrays of it and what enters each layer.
    """
    from tailwright.heads.label_attention import NUMBERS_A_BLOCK

    words = rows * longest * (5 * settings.width + 2 * 14 * settings.hidden)
    return FLOAT * (words + NUMBERS_A_BLOCK * (5 + 2 * len(settings.layers)))
