"""`WordModel`: a flat network over word vectors, as a model: its words, its training, its folder."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.models.shared.flat_model import FlatModel
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.data.text.sequences import TokenRows
    from tailwright.data.text.vocabulary import WordVocabulary
    from tailwright.encoders.reading import RowReader, TextEncoder
    from tailwright.models.shared.text_network import FlatNetwork
    from tailwright.models.shared.word_settings import WordSettings

WORDS = "encoder.words"  # the part with the word vectors


def new_words(
    settings: WordSettings, texts: pa.LargeStringArray, *, seed: int
) -> tuple[WordVocabulary, np.ndarray]:
    """The words of these texts that are kept, and the table (ids, width) of vectors that they start from."""
    from tailwright.data.text.vocabulary import WordVocabulary, WordVocabularySettings
    from tailwright.data.text.word_vectors import word_table

    words = WordVocabulary.build(texts, WordVocabularySettings(settings.vocabulary, settings.min_count))
    return words, word_table(words, settings.width, settings.vectors, seed=seed)


class WordModel(FlatModel):
    """A model whose settings are `WordSettings`."""

    settings: WordSettings
    words: WordVocabulary

    @abstractmethod
    def encoder(self, table: np.ndarray, seed: int) -> TextEncoder:
        """The untrained encoder over a table (ids, width) of word vectors."""

    def new_network(self, corpus: Corpus, *, seed: int, work: Workplace) -> FlatNetwork:
        with work.phase("words"):
            self.words, table = new_words(self.settings, corpus.train.texts, seed=seed)
        return self._network(table, len(corpus.labels), seed)

    def _network(self, table: np.ndarray, labels: int, seed: int) -> FlatNetwork:
        from tailwright.models.shared.text_network import FlatNetwork

        encoder = self.encoder(table, seed)
        return FlatNetwork(encoder, self.output(labels, encoder.width, seed))

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        return self.words.rows(texts, self.settings.max_length)

    def rates(self, network: FlatNetwork) -> dict[str, float]:
        chosen = self.settings
        return {name: chosen.rate for name in network.parts() if name != WORDS or chosen.learn_words}

    def reader(self, network: FlatNetwork, tokens: TokenRows, work: Workplace) -> RowReader:
        from tailwright.encoders.reading import TokenReader

        return TokenReader(network.encoder, tokens)

    def save(self, folder: FolderWriter) -> None:
        from tailwright.models.shared.network_files import save_parts

        self.words.save(folder.sub("words"))
        save_parts(folder, "network", self.network.parts())

    def load(self, folder: FolderReader, labels: int) -> None:
        from tailwright.data.text.vocabulary import WordVocabulary
        from tailwright.models.shared.network_files import load_parts

        self.words = WordVocabulary.load(folder.sub("words"))
        table = np.zeros((self.words.size, self.settings.width), dtype=np.float32)
        self.network = self._network(table, labels, 0)
        load_parts(folder, "network", self.network.parts())
