"""Label texts as rows: what the methods that make a row of every label's text share."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, Origin

log = logging.getLogger(__name__)


def label_rows(corpus: Corpus, method: str, annotations: sparse.csr_array) -> Dataset:
    """A row for each label that has a text, `origin.rows` being the label's column.

    `annotations` (labels, labels) are the targets of the row of each label.
    """
    labels = corpus.labels
    with_text = np.flatnonzero(labels.has_text)
    if len(with_text) < len(labels):
        without = len(labels) - len(with_text)
        log.info("%s: %d of %d labels have no text and give no row", method, without, len(labels))
    return Dataset(
        labels.texts.take(pa.array(with_text)),
        annotations[with_text],
        origin=Origin.made_by(method, with_text),
    )
