"""A corpus in miniature: some of the labels with all of their rows, for probes that must be quick.

Whether an augmentation helps depends on how many rows a label has and on which labels go together. A share
of the rows would make every label rarer than it is; a share of the labels drawn one by one would tear
companions apart. So labels are grouped by the texts they stand on, and whole groups are drawn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset
from tailwright.data.text.tfidf import TfIdf
from tailwright.labels import balanced_clusters, pifa
from tailwright.streams import stream

GROUPS = 64


def draw_order(corpus: Corpus, seed: int = 0) -> np.ndarray:
    """(labels,) float64 in [0, 1): a label is in the miniature of every share above its value.

    Labels of one group have neighbouring values, so a share consists of whole groups but for one. Labels
    without training rows belong to no group and are drawn one by one.
    """
    _, features = TfIdf.fit_transform(corpus.train.texts)
    groups = balanced_clusters(pifa(corpus.train.targets, features), GROUPS, seed=seed)
    draw = stream(seed, "miniature")
    place = draw.permutation(int(groups.max(initial=0)) + 1)
    within = draw.random(len(groups))
    order = (place[groups] + within) / len(place)
    return np.where(corpus.labels.counts > 0, order, draw.random(len(groups)))


def miniature(corpus: Corpus, share: float, order: np.ndarray) -> Corpus:
    """The labels whose `order` is below `share`, and the rows of each split that carry one of them."""
    if not 0 < share <= 1:
        raise ValueError(f"share must be in (0, 1], got {share}")
    if share == 1:
        return corpus
    kept = np.flatnonzero(order < share)
    if not len(kept):
        kept = np.array([int(np.argmin(order))])
    labels, columns = corpus.labels, pa.array(kept)
    space = LabelSpace(labels.ids.take(columns), labels.names.take(columns), labels.texts.take(columns))
    splits = {name: _restricted(split, kept) for name, split in corpus.splits().items()}
    return Corpus(labels=space, **{"valid": None, "test": None, **splits})  # type: ignore[arg-type]


def _restricted(data: Dataset, kept: np.ndarray) -> Dataset:
    """The rows that carry one of the `kept` labels, over these labels alone."""
    pairs = {name: getattr(data, name)[:, kept] for name in ("targets", "ignored", "excluded")}
    weights = None if data.label_weights is None else data.label_weights[kept]
    narrowed = replace(data, label_weights=weights, **pairs)
    return narrowed.take(np.flatnonzero(np.diff(narrowed.targets.indptr)))
