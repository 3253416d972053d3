"""`WordModel`: a flat network over word vectors, as a model: its words, its training, its folder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.models._text_model import TextModel
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.data.text import WordVocabulary
    from tailwright.data.text.sequences import TokenRows
    from tailwright.encoders.reading import TextEncoder
    from tailwright.models._text_network import FlatNetwork
    from tailwright.models._text_output import Output
    from tailwright.models._word_settings import WordSettings
    from tailwright.training.memory import MemoryNeed
    from tailwright.training.phases import Phase

WORDS = "encoder.words"  # the part with the word vectors


def new_words(
    settings: WordSettings, texts: pa.LargeStringArray, *, seed: int
) -> tuple[WordVocabulary, np.ndarray]:
    """The words of these texts that are kept, and the table (ids, width) of vectors that they start from."""
    from tailwright.data.text import WordVocabulary, WordVocabularySettings
    from tailwright.data.text.word_vectors import word_table

    words = WordVocabulary.build(texts, WordVocabularySettings(settings.vocabulary, settings.min_count))
    return words, word_table(words, settings.width, settings.vectors, seed=seed)


class WordModel(TextModel["FlatNetwork"]):
    """A model whose settings are `WordSettings`."""

    settings: WordSettings
    words: WordVocabulary

    @abstractmethod
    def encoder(self, table: np.ndarray, seed: int) -> TextEncoder:
        """The untrained encoder over a table (ids, width) of word vectors."""

    @abstractmethod
    def output(self, labels: int, width: int, seed: int) -> Output:
        """The untrained output on an encoder of that width."""

    @abstractmethod
    def batch_bytes(self, rows: int, longest: int, labels: int) -> float:
        """What a step on so many rows of at most so many words holds."""

    def new_network(self, corpus: Corpus, *, seed: int, work: Workplace) -> FlatNetwork:
        with work.phase("words"):
            self.words, table = new_words(self.settings, corpus.train.texts, seed=seed)
        return self._network(table, len(corpus.labels), seed)

    def _network(self, table: np.ndarray, labels: int, seed: int) -> FlatNetwork:
        from tailwright.models._text_network import FlatNetwork

        encoder = self.encoder(table, seed)
        return FlatNetwork(encoder, self.output(labels, encoder.width, seed))

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        return self.words.rows(texts, self.settings.max_length)

    def rates(self, network: FlatNetwork) -> dict[str, float]:
        """The learning rate of each part that is trained."""
        chosen = self.settings
        return {name: chosen.rate for name in network.parts() if name != WORDS or chosen.learn_words}

    def memory_need(self, network: FlatNetwork, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        from tailwright.models._text_memory import training_need
        from tailwright.models._validation import has_valid

        chosen = self.settings
        rows = min(chosen.micro_batch or chosen.batch, len(tokens))
        longest = int(tokens.lengths.max(initial=0))
        return training_need(
            network.parts(),
            self.rates(network),
            chosen,
            batch=self.batch_bytes(rows, longest, len(corpus.labels)),
            validates=has_valid(corpus),
        )

    def phases(
        self, network: FlatNetwork, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace
    ) -> Sequence[Phase]:
        from tailwright.encoders.reading import TokenReader
        from tailwright.models._text_network import FlatPhase

        return [
            FlatPhase(
                self.card.name,
                TokenReader(network.encoder, tokens),
                network.output,
                corpus.train,
                self.settings.plan(self.rates(network)),
                device=network.encoder.device,
                validate=self.validation(network, corpus, work),
                watch=self.watching(network, work),
            )
        ]

    def save(self, folder: FolderWriter) -> None:
        from tailwright.models._network_files import save_parts

        self.words.save(folder.sub("words"))
        save_parts(folder, "network", self.network.parts())

    def load(self, folder: FolderReader, labels: int) -> None:
        from tailwright.data.text import WordVocabulary
        from tailwright.models._network_files import load_parts

        self.words = WordVocabulary.load(folder.sub("words"))
        table = np.zeros((self.words.size, self.settings.width), dtype=np.float32)
        self.network = self._network(table, labels, 0)
        load_parts(folder, "network", self.network.parts())
