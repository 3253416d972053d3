"""The words of labels' texts, by the ids that texts are read as, and the graph between labels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
from tailwright.data.text.vocabulary import WordVocabulary
from tailwright.heads.shortlist_settings import WalkSettings
from tailwright.labels import GraphSettings
from tailwright.labels.correlation import symmetric_graph
from tailwright.labels.graph_texts import with_self_edges
from tailwright.labels.shared import graph_of_originals
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


def label_graph(corpus: Corpus, graph: WalkSettings, seed: int) -> sparse.csr_array:
    """(labels, labels) float32: the symmetric graph, in which a label without edges is its own neighbour."""
    walk = GraphSettings(graph.steps, graph.restart, graph.top, graph.head_cut)
    return symmetric_graph(with_self_edges(graph_of_originals(corpus.train, walk, seed)))
