"""Label matcher: the labels whose text is nearest to the input, by cosine of TF-IDF vectors. No training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.pairs import with_moved_columns
from tailwright.data.text.tfidf import TfIdf
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.heads.inverted_index import InvertedIndex
from tailwright.models import LaterRows, Model, ModelCard, models
from tailwright.models.shared.reasons import Reasons, word_shares
from tailwright.models.shared.text_blocks import text_blocks
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.training.memory import MemoryNeed
from tailwright.training.workplace import Workplace

ROWS_A_BLOCK = 2048


@models.register
class LabelMatcher(Model):
    """Word weights come from the training texts and the label texts; targets are never looked at.

    A label that shares no word with a text is not predicted for it.
    """

    card = ModelCard(
        name="label-matcher",
        summary="nearest label text by TF-IDF cosine, nothing learnt from the targets",
        reads=("texts", "label texts"),
        scores="rank",
        adds_labels=True,
        continues="new rows",
    )

    features: TfIdf
    index: InvertedIndex  # (words, labels)

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        if not corpus.labels.has_text.any():
            raise InputError("no label has a text", expected="label texts, which label-matcher compares with")
        self._announce_memory(corpus, work)
        self.features = TfIdf.fit(pa.concat_arrays([corpus.train.texts, corpus.labels.texts]))
        self.index = _index_of(self.features.transform(corpus.labels.texts))

    def learn_more(self, before: Model, later: LaterRows, *, seed: int, work: Workplace) -> None:
        """Word weights stay; a new word of a row matches no label unless it is in the text of a new one."""
        assert isinstance(before, LabelMatcher)
        self._announce_memory(later.corpus, work)
        known = before.index.by_word.shape[1]
        grown = before.with_more_labels(later.corpus.labels.behind(known))
        self.features, self.index = grown.features, grown.index

    def _announce_memory(self, corpus: Corpus, work: Workplace) -> None:
        """A word takes about 6 bytes in a text, 12 while it is counted, and 8 in each of two matrices."""
        texts, labels = corpus.train.texts.nbytes, corpus.labels.texts.nbytes
        items = {"words of the texts": 2.0 * (texts + labels), "words of the labels": 3.0 * labels}
        MemoryNeed(items).announce(work, "fewer rows or shorter texts need less")

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        none = TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))
        blocks = map(self.features.rows, text_blocks(texts, "matching", ROWS_A_BLOCK))
        return TopK.concat([none, *(self.index.top_k(block, k) for block in blocks)])

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        return self.features.knows(texts)

    def with_more_labels(self, labels: LabelSpace) -> LabelMatcher:
        grown = LabelMatcher(self.settings)
        grown.features, places = self.features.with_new_words(labels.texts)
        known = with_moved_columns(self.index.by_word.T.tocsr(), places, len(grown.features.vocabulary))
        every = sparse.vstack([known, grown.features.transform(labels.texts)], format="csr")
        grown.index = _index_of(every)
        return grown

    def explain(self, text: str, labels: Sequence[int]) -> list[Reasons]:
        """Words by what they add to the cosine: only those that the label's text has too add anything."""
        row = self.features.transform([text])
        words = self.features.vocabulary.take(pa.array(row.indices)).to_pylist()
        shared = self.index.by_word[row.indices][:, list(labels)].toarray() * row.data[:, None]
        return [
            Reasons("cosine", word_shares(text, dict(zip(words, shares.tolist(), strict=True))), exact=True)
            for shares in shared.T  # (words,)
        ]

    def save(self, folder: FolderWriter) -> None:
        self.features.save(folder.sub("features"))
        folder.csr("labels_by_word", self.index.by_word)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.features = TfIdf.load(folder.sub("features"))
        shape = (len(self.features.vocabulary), labels)
        by_word = folder.csr("labels_by_word", dtype=np.float32, shape=shape)
        try:
            self.index = InvertedIndex(by_word)
        except ValueError as error:
            path = folder.path / "labels_by_word"
            raise DamagedFolderError(str(error), expected="the weights of words", path=path) from error


def _index_of(label_rows: sparse.csr_array) -> InvertedIndex:
    """The index of labels by their rows (labels, words)."""
    return InvertedIndex(sparse.csr_array(label_rows.T.tocsr()))
