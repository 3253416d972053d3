"""How near a text encoder puts a query to other texts: what its geometry knows of labels, after training.

A query is a training row. Each is compared with a random row, a row that shares one of its labels, the text
of one of its head labels and of one of its tail labels, and its LabelMix document: the row followed by the
text of one of its labels.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from tailwright.augmentation.labelmix import LabelMixSettings
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids
from tailwright.labels import head_torso_tail
from tailwright.runs.run import Run
from tailwright.streams import stream

RANDOM, SHARED, HEAD, TAIL, MIXED = KINDS = (
    "random document",
    "co-document",
    "head label",
    "tail label",
    "LabelMix document",
)


def similarities(run: Run, corpus: Corpus, seed: int = 0, queries: int = 5000) -> dict[str, np.ndarray]:
    """Cosines of queries of `corpus.train` with each kind of text, (queries that have one,) float32 each.

    A kind that no query has is left out; a model without text vectors gives an empty result. Only
    original rows count, and at most `queries` of them, drawn by `seed`.
    """
    if queries < 1:
        raise ValueError(f"queries must be >= 1, got {queries}")
    rows = corpus.train.originals()
    if not len(rows) or run.model.text_vectors(rows.texts.slice(0, 1)) is None:
        return {}
    draw = stream(seed, "similarities")
    queried = np.sort(draw.permutation(len(rows))[:queries])
    query_rows = rows.take(queried)

    def vectors(texts: pa.LargeStringArray) -> np.ndarray:
        encoded = run.model.text_vectors(texts)
        assert encoded is not None  # one text had a vector, so all have
        return encoded

    query_vectors = vectors(query_rows.texts)
    texts = corpus.labels.texts
    readable = corpus.labels.has_text
    slices = head_torso_tail(corpus.labels.counts)
    even_odds = np.zeros(len(corpus.labels))
    rare_first = LabelMixSettings().exponent * np.log(np.maximum(corpus.labels.counts, 1))
    shared = _one_label(query_rows, even_odds, draw)
    # Of each kind: the place of each query's partner, -1 for none, and the texts that places refer to.
    partners = {
        RANDOM: (_any_other(queried, len(rows), draw), rows.texts),
        SHARED: (_companion(rows.targets, queried, shared, draw), rows.texts),
        HEAD: (_one_label(query_rows, np.where(readable & slices["head"], even_odds, -np.inf), draw), texts),
        TAIL: (_one_label(query_rows, np.where(readable & slices["tail"], even_odds, -np.inf), draw), texts),
        MIXED: (_one_label(query_rows, np.where(readable, rare_first, -np.inf), draw), texts),
    }
    cosines = {}
    for kind, (places, source) in partners.items():
        has = np.flatnonzero(places >= 0)
        if not len(has):
            continue
        other = source.take(pa.array(places[has]))
        if kind == MIXED:
            space = pa.scalar(" ", pa.large_string())
            other = pc.binary_join_element_wise(query_rows.texts.take(pa.array(has)), other, space)
        cosines[kind] = np.einsum("qw,qw->q", query_vectors[has], vectors(other))
    return cosines


def _one_label(data: Dataset, log_odds: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """(rows,): a label of each row, drawn by `log_odds` (labels,); -1 where none of them can be drawn."""
    pairs = data.targets
    # The largest of log-odds plus Gumbel noise falls on each label with its share of the odds.
    race = log_odds[pairs.indices] + draw.gumbel(size=pairs.nnz)
    order = np.lexsort((race, row_ids(pairs)))
    filled = np.flatnonzero(np.diff(pairs.indptr))
    winners = order[pairs.indptr[filled + 1] - 1]
    drawn = np.full(len(data), -1, dtype=np.int64)
    drawn[filled] = np.where(np.isfinite(race[winners]), pairs.indices[winners], -1)
    return drawn


def _any_other(queried: np.ndarray, rows: int, draw: np.random.Generator) -> np.ndarray:
    """(queries,): for each row of `queried` any other row; -1 if there is only one row."""
    if rows < 2:
        return np.full(len(queried), -1, dtype=np.int64)
    return (queried + draw.integers(1, rows, size=len(queried))) % rows


def _companion(
    targets: sparse.csr_array, queried: np.ndarray, labels: np.ndarray, draw: np.random.Generator
) -> np.ndarray:
    """(queries,): another row with the label that was drawn for the query; -1 where no other has it."""
    by_label = targets.tocsc()
    companions = np.full(len(queried), -1, dtype=np.int64)
    starts, sizes = by_label.indptr[:-1], np.diff(by_label.indptr)
    able = np.flatnonzero((labels >= 0) & (sizes[labels] > 1))
    start, size = starts[labels[able]], sizes[labels[able]]
    # The query's own place is left out: places from it on move up by one.
    place = draw.integers(0, size - 1)
    ascending = by_label.indices
    other_row = ascending[start + place]
    companions[able] = np.where(other_row < queried[able], other_row, ascending[start + place + 1])
    return companions
