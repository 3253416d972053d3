"""Mask: made rows teach nothing about head labels, which have rows enough of their own.

Follows the masked loss of the XDA paper. A masked pair of row and label is an ignored pair, so every model
that honours those, and all of them do, learns by the paper's formula. Neither the frozen encoder nor the
classifier that starts anew belongs to the mask; they are the model's settings.

Left out: the weights of labels that the authors' code multiplies the loss by where its paper has the mask.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import sparse

from tailwright.augmentation import AugmenterCard, RowRefiner, TrainedClassifier, augmenters
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import checked, row_ids
from tailwright.errors import InputError
from tailwright.settings import Settings, setting
from tailwright.training.workplace import Workplace

log = logging.getLogger(__name__)

MOST_PAIRS = 2**27  # 3 GB while they are put together


@dataclass(frozen=True)
class MaskSettings(Settings):
    """Which labels are heads, and which of their pairs are masked."""

    kind: Literal["mask_pos", "mask_all"] = setting(
        "mask_pos", "mask_pos: head labels of a made row give no loss; mask_all: nor do head labels it lacks"
    )
    tail_below: int = setting(
        50, "a label with fewer original training rows is a tail label, any other a head label", least=1
    )
    head_labels: int | None = setting(
        None, "so many of the most frequent labels are the head labels instead; none: by tail_below", least=0
    )


@augmenters.register
class Mask(RowRefiner):
    """Adds ignored pairs to made rows; a row of which all labels are masked still teaches what it is not."""

    card = AugmenterCard(
        name="mask",
        summary="made rows give no loss for head labels",
        door="rows",
        keeps_targets=False,
        paper="Taming Prompt-Based Data Augmentation for Long-Tailed Extreme Multi-Label Text Classification",
    )
    Settings = MaskSettings
    probes = ()

    def refined(
        self,
        corpus: Corpus,
        *,
        classifier: TrainedClassifier | None = None,
        work: Workplace | None = None,
    ) -> Corpus:
        train = corpus.train
        heads = head_labels(corpus.weighed().labels.counts, self.settings)
        made = ~train.origin.is_original()
        masked = self._masked(train, made, heads)
        facts = {"heads": int(heads.sum()), "labels": len(heads), "pairs": int(masked.nnz)}
        log.info("mask: %(heads)d of %(labels)d labels are heads; %(pairs)d pairs give no loss", facts)
        (work or Workplace()).log("mask", **facts)
        ignored = sparse.csr_array(train.ignored + masked)
        ignored.data[:] = 1  # of a pair that was ignored before as well
        return corpus.with_train(replace(train, ignored=checked(ignored)))

    def _masked(self, train: Dataset, made: np.ndarray, heads: np.ndarray) -> sparse.csr_array:
        """(rows, labels): ones at the pairs to mask."""
        if self.settings.kind == "mask_pos":
            rows, labels = row_ids(train.targets), train.targets.indices
            hit = made[rows] & heads[labels]
            rows, labels = rows[hit], labels[hit]
        else:
            _refuse_too_many(int(made.sum()) * int(heads.sum()))
            rows = np.repeat(np.flatnonzero(made), int(heads.sum()))
            labels = np.tile(np.flatnonzero(heads), int(made.sum()))
        ones = np.ones(len(rows), dtype=np.float32)
        return sparse.csr_array((ones, (rows, labels)), shape=train.targets.shape)


def head_labels(counts: np.ndarray, settings: MaskSettings) -> np.ndarray:
    """(labels,) bool: the head labels, by the number of original training rows of each.

    >>> head_labels(np.array([9, 50, 49, 200]), MaskSettings()).tolist()
    [False, True, False, True]
    >>> head_labels(np.array([9, 50, 50, 200]), MaskSettings(head_labels=2)).tolist()
    [False, True, False, True]
    """
    if settings.head_labels is None:
        frequent: np.ndarray = counts >= settings.tail_below
        return frequent
    heads = np.zeros(len(counts), dtype=bool)
    heads[np.argsort(-counts, kind="stable")[: settings.head_labels]] = True
    return heads


def _refuse_too_many(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        expected = f"at most {MOST_PAIRS:,}: a larger mask.tail_below, or mask.kind=mask_pos"
        raise InputError(f"mask_all would store {pairs:,} pairs of row and label", expected=expected)
