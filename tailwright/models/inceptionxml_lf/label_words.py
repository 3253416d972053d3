"""The words of labels' texts and of their neighbours' texts, by the ids that texts are read as."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
from tailwright.data.text.vocabulary import WordVocabulary
from tailwright.heads.shortlist_settings import NeighbourSettings
from tailwright.labels import GraphSettings
from tailwright.labels.shared import shared_graph
from tailwright.labels.vectors import unit_rows


def label_words(corpus: Corpus, words: WordVocabulary, min_count: int) -> sparse.csr_array:
    """(labels, ids) float32: the TF-IDF of each label's text, of length 1; without words, an empty row."""
    texts = pa.concat_arrays([corpus.train.texts, corpus.labels.texts])
    features = TfIdf.fit(texts, TfIdfSettings(min_count=min_count))
    matrix = features.transform(corpus.labels.texts)
    places = pc.fill_null(pc.index_in(features.vocabulary, value_set=words.vocabulary), -1)
    ids = np.asarray(places, dtype=np.int64)
    reserved = words.size - len(words.vocabulary)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    of_entries = ids[matrix.indices]
    kept = of_entries >= 0
    shape = (matrix.shape[0], words.size)
    entries = matrix.data[kept], (rows[kept], of_entries[kept] + reserved)
    return unit_rows(sparse.csr_array(entries, shape=shape))


def neighbour_words(
    corpus: Corpus, texts: sparse.csr_array, graph: NeighbourSettings, seed: int
) -> sparse.csr_array:
    """(labels, ids) float32: the words of each label's neighbours, weighted by the symmetric label graph."""
    rows = corpus.train.originals()
    in_order = rows.targets[np.argsort(rows.origin.rows, kind="stable")]
    walk = GraphSettings(graph.steps, graph.restart, graph.top, graph.head_cut)
    edges = symmetric(shared_graph(in_order, walk, seed))
    return sparse.csr_array(edges @ texts, dtype=np.float32)


def symmetric(edges: sparse.csr_array) -> sparse.csr_array:
    """D^-1/2 A D'^-1/2, with D the sums of rows and D' those of columns; a row without edges is the identity.

    >>> symmetric(sparse.csr_array([[3.0, 1.0], [0.0, 0.0]])).toarray().round(3).tolist()
    [[0.866, 0.5], [0.0, 1.0]]
    """
    of_rows, of_columns = (np.asarray(edges.sum(axis=axis)).ravel() for axis in (1, 0))
    left, right = (1 / np.sqrt(np.where(sums > 0, sums, 1)) for sums in (of_rows, of_columns))
    alone = sparse.diags_array((of_rows == 0).astype(np.float32))
    scaled = sparse.diags_array(left) @ edges @ sparse.diags_array(right)
    return sparse.csr_array(scaled + alone, dtype=np.float32)
