"""Label matcher: the labels whose text is nearest to the input, by cosine of TF-IDF vectors. No training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.text.tfidf import TfIdf
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.kernels.shortlist import nearest_rows
from tailwright.models import Model, ModelCard, models
from tailwright.models.shared.reasons import Reasons, word_shares
from tailwright.models.shared.text_blocks import text_blocks
from tailwright.store import FolderReader, FolderWriter
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
    )

    features: TfIdf
    labels_by_word: sparse.csr_array  # (words, labels)

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        if not corpus.labels.has_text.any():
            raise InputError("no label has a text", expected="label texts, which label-matcher compares with")
        self.features = TfIdf.fit(pa.concat_arrays([corpus.train.texts, corpus.labels.texts]))
        self.labels_by_word = sparse.csr_array(self.features.transform(corpus.labels.texts).T.tocsr())

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        none = TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))
        blocks = map(self.features.transform, text_blocks(texts, "matching", ROWS_A_BLOCK))
        return TopK.concat([none, *(TopK(*nearest_rows(block, self.labels_by_word, k)) for block in blocks)])

    def explain(self, text: str, labels: Sequence[int]) -> list[Reasons]:
        """Words by what they add to the cosine: only those that the label's text has too add anything."""
        row = self.features.transform([text])
        words = self.features.vocabulary.take(pa.array(row.indices)).to_pylist()
        shared = self.labels_by_word[row.indices][:, list(labels)].toarray() * row.data[:, None]
        return [
            Reasons("cosine", word_shares(text, dict(zip(words, shares.tolist(), strict=True))), exact=True)
            for shares in shared.T  # (words,)
        ]

    def save(self, folder: FolderWriter) -> None:
        self.features.save(folder.sub("features"))
        folder.csr("labels_by_word", self.labels_by_word)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.features = TfIdf.load(folder.sub("features"))
        shape = (len(self.features.vocabulary), labels)
        self.labels_by_word = folder.csr("labels_by_word", dtype=np.float32, shape=shape)
