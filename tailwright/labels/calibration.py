"""Calibrated annotations: how probable a companion m of a label l is as a label of the text of l.

A ratio of the correlation graph is no probability: where l has a single row, every companion has the ratio 1.

| calibration | target of m in the row of l |
|---|---|
| shrink | ratio x n / (n + shrinkage), with n the rows of l |
| learnt | logistic regression over the ratio and the rows of l and m, on rows that the graph has not seen |

What is known about such a pair from held-out rows, while the graph is made of the others:

| evidence | a pair | it is true if |
|---|---|---|
| shared rows | a held-out row that has l, a companion m of l | the row has m too |
| own rows | a held-out row whose text is that of l, a companion m of l | the row has m |

Own rows are what is asked for, but there may be few of them, or none. So shared rows are learnt from first,
and own rows then move what was learnt as far as there are enough of them; before both stands a curve that is
all but `shrink` with 1. Where labels are items like the rows, own rows agree with shared ones. Where labels
are keywords, they do not: a title that is one keyword seldom has the keywords that the keyword goes with.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, share_of
from tailwright.data.pairs import row_ids, values_at
from tailwright.evaluation.logistic import logistic_regression
from tailwright.labels.annotations import soft_annotations
from tailwright.labels.correlation import GraphSettings
from tailwright.labels.shared import annotations_of, rows_in_order, shared_graph
from tailwright.settings import Settings, setting
from tailwright.streams import stream

log = logging.getLogger(__name__)

Calibration: TypeAlias = Literal["learnt", "shrink"]
# Of the log-odds: 1, log-odds of the ratio, ln of the label's rows, ln of the companion's. With these factors
# a probability is (n ratio + 0.1) / (n + 1.2).
UNLEARNT = np.array([0.0, 1.0, 0.0, 0.0])
RIDGE = 2.5


@dataclass(frozen=True)
class CalibrationSettings(Settings):
    """How the ratios of the label graph become probabilities."""

    shrinkage: float = setting(
        1.0, "of calibration=shrink: a target is multiplied by n / (n + this), n the label's rows", least=0
    )
    held_out: float = setting(
        0.2, "of calibration=learnt: share of the training rows that it learns from", above=0, below=1
    )
    soft_from: float = setting(
        0.0,
        "a label none of whose companions has a target of at least this is annotated with itself alone",
        least=0,
        most=1,
    )


class Evidence(NamedTuple):
    """Pairs of a label and a companion in a held-out row: what the graph says, and whether it is so."""

    features: np.ndarray  # (pairs, 4)
    truth: np.ndarray  # (pairs,): the row's target of the companion, 0 if it has none
    weights: np.ndarray  # (pairs,): those of one label's rows sum to that of one row


def calibrated_annotations(
    corpus: Corpus,
    graph: GraphSettings,
    calibration: Calibration,
    settings: CalibrationSettings,
    *,
    threshold: float,
    seed: int = 0,
) -> sparse.csr_array:
    """Row l: the targets of the text of label l, CSR float32 (labels, labels): 1 for l, probabilities else.

    They depend on the original training rows and the seed alone. Targets up to `threshold` are dropped.
    """
    annotations = annotations_of(corpus, graph, threshold=0, seed=seed)
    rows, counts = row_ids(annotations), corpus.labels.counts
    others = rows != annotations.indices
    ratios = annotations.data[others].astype(np.float64)
    of_label, of_companion = counts[rows[others]], counts[annotations.indices[others]]
    if calibration == "shrink":
        targets = ratios * of_label / (of_label + settings.shrinkage)
        learnt_from = ""
    else:
        own, shared = held_out_evidence(corpus, graph, settings.held_out, seed)
        factors = learnt_factors(shared, own)
        targets = 1 / (1 + np.exp(-features_of(ratios, of_label, of_companion) @ factors))
        learnt_from = f", from {len(own.truth):,} held-out pairs of own rows, {len(shared.truth):,} of shared"
    means = (values.mean() if len(values) else 0 for values in (ratios, targets))
    log.info(
        "annotations: mean target of a companion %.2f, %s %.2f%s",
        next(means),
        calibration,
        next(means),
        learnt_from,
    )
    values = np.ones(annotations.nnz, dtype=np.float32)
    values[others] = targets
    best = np.zeros(len(counts))
    np.maximum.at(best, rows[others], targets)
    kept = ~others | ((values > threshold) & (best[rows] >= settings.soft_from))
    return sparse.csr_array((values[kept], (rows[kept], annotations.indices[kept])), shape=annotations.shape)


def learnt_factors(shared: Evidence, own: Evidence) -> np.ndarray:
    """(4,) factors of the log-odds: from shared rows, then from own rows towards what these have taught."""
    factors = UNLEARNT
    for evidence in (shared, own):
        factors = logistic_regression(*evidence, ridge=RIDGE, towards=factors, start=factors)
    return factors


def features_of(ratios: np.ndarray, of_label: np.ndarray, of_companion: np.ndarray) -> np.ndarray:
    """(pairs, 4): the features of pairs, by their ratio in the graph and the rows of both labels.

    All of these are (pairs,); both labels of an edge have rows.
    """
    shrunk = (ratios * of_label + 0.1) / (of_label + 1.2)
    log_odds = np.log(shrunk / (1 - shrunk))
    return np.stack([np.ones(len(shrunk)), log_odds, np.log(of_label), np.log(of_companion)], axis=1)


def held_out_evidence(
    corpus: Corpus, graph: GraphSettings, share: float, seed: int
) -> tuple[Evidence, Evidence]:
    """(own rows, shared rows): what a share of the original rows says about the graph of the others."""
    rows = rows_in_order(corpus.train)
    order = stream(seed, "calibration").permutation(len(rows))
    held_out = share_of(len(rows), share)
    seen, unseen = (rows.take(np.sort(part)) for part in (order[held_out:], order[:held_out]))
    annotations = soft_annotations(shared_graph(seen.targets, graph, seed), threshold=0)
    annotations.setdiag(0)
    annotations.eliminate_zeros()
    counts = np.bincount(seen.targets.indices, minlength=len(corpus.labels))
    pairs = (
        rows_that_are_labels(unseen.texts, corpus.labels.texts),
        (row_ids(unseen.targets), unseen.targets.indices),
    )
    own, shared = (_evidence(annotations, counts, unseen, *each) for each in pairs)
    return own, shared


def rows_that_are_labels(
    texts: pa.LargeStringArray, label_texts: pa.LargeStringArray
) -> tuple[np.ndarray, np.ndarray]:
    """(rows, labels) of all pairs of a row and a label with the same text, but for case and spaces.

    >>> found = rows_that_are_labels(pa.array(["a  B", "c", ""]), pa.array(["x", "A b", "", "a b"]))
    >>> [each.tolist() for each in found]
    [[0, 0], [1, 3]]
    """
    columns: dict[str, list[int]] = {}
    for column, text in enumerate(label_texts.to_pylist()):
        columns.setdefault(_plain(text), []).append(column)
    columns.pop("", None)
    found = [
        (row, column)
        for row, text in enumerate(texts.to_pylist())
        for column in columns.get(_plain(text), ())
    ]
    rows, labels = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return rows, labels


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _evidence(
    annotations: sparse.csr_array,
    counts: np.ndarray,
    unseen: Dataset,
    rows: np.ndarray,
    labels: np.ndarray,
) -> Evidence:
    """What the rows say about the companions of `labels`, one label for each of `rows`."""
    companions = annotations[labels]  # (rows, labels)
    pairs = row_ids(companions)
    truth = values_at(unseen.targets[rows], companions)
    times = np.bincount(labels, minlength=len(counts))
    weights = unseen.weights[rows][pairs] / times[labels][pairs]
    of_label, of_companion = counts[labels][pairs], counts[companions.indices]
    return Evidence(features_of(companions.data, of_label, of_companion), truth, weights)
