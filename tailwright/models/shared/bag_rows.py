"""Training rows as bags of words, for models that learn word vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
from tailwright.encoders.bags import Bags
from tailwright.encoders.joined_bags import BagJoiner
from tailwright.training.batches import BatchMix


@dataclass(frozen=True, eq=False)
class BagRows:
    """What all learners train on: rows that have words and labels."""

    data: Dataset
    matrix: sparse.csr_array  # (rows, words) TF-IDF
    label_matrix: sparse.csr_array  # (labels, words): label texts
    texts: BagJoiner
    targets: sparse.csr_array  # (rows, labels): learnt targets times their weight
    mixes: Sequence[BatchMix]
    read: Callable[[pa.LargeStringArray], Bags]
    watch: Mapping[str, Dataset]


def word_features(corpus: Corpus, min_count: int) -> tuple[TfIdf, sparse.csr_array, sparse.csr_array]:
    """The features of words, and the texts of rows and of labels as those: (rows, words), (labels, words).

    The words of label texts count too: a mix may append them to rows, and they then need vectors.
    """
    texts = pa.concat_arrays([corpus.train.texts, corpus.labels.texts])
    features, every = TfIdf.fit_transform(texts, TfIdfSettings(min_count=min_count))
    return features, every[: len(corpus.train)], every[len(corpus.train) :]


def bag_rows(
    corpus: Corpus,
    features: TfIdf,
    matrix: sparse.csr_array,
    label_matrix: sparse.csr_array,
    mixes: Sequence[BatchMix],
    watch: Mapping[str, Dataset],
) -> BagRows:
    """The rows that have words, labels and weight, as all learners read them."""
    targets = corpus.train.weighted_targets()
    kept = np.flatnonzero((np.diff(matrix.indptr) > 0) & (np.diff(targets.indptr) > 0))
    data, matrix, targets = corpus.train.take(kept), matrix[kept], targets[kept]
    kinds = np.array([0, len(features.vocabulary)], dtype=np.int64)
    joiner = BagJoiner(Bags.of(matrix), Bags.of(label_matrix), features.idf, kinds)
    return BagRows(
        data,
        matrix,
        label_matrix,
        joiner,
        targets,
        mixes,
        lambda texts: Bags.of(features.transform(texts)),
        watch,
    )
