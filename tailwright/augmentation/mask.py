"""Mask: made rows teach nothing about head labels, which have rows enough of their own, or less about them.

Follows the masked loss of the XDA paper. A masked pair of row and label is an ignored pair, so every model
that honours those, and all of them do, learns by the paper's formula. Neither the frozen encoder nor the
classifier that starts anew belongs to the mask; they are the model's settings.

`reweight` is what the authors' code does in place of the paper's mask: all labels of made rows keep their
loss, multiplied by a weight of the label, which is the larger the rarer the label, and by a factor that all
made rows share.
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
    """Which labels are heads and which of their pairs are masked, or how the loss of labels is weighted."""

    kind: Literal["mask_pos", "mask_all", "reweight"] = setting(
        "mask_pos",
        "mask_pos: head labels of a made row give no loss; mask_all: nor do head labels it lacks; reweight: "
        "all labels give a loss, and rare ones a larger one",
    )
    tail_below: int = setting(
        50,
        "a label with fewer original training rows is a tail label, any other a head label; without meaning "
        "for reweight",
        least=1,
    )
    head_labels: int | None = setting(
        None,
        "so many of the most frequent labels are the head labels instead; none: by tail_below; without "
        "meaning for reweight",
        least=0,
    )
    factor: float = setting(
        0.3,
        "reweight multiplies the weight of made rows by this; without meaning for other kinds",
        above=0,
        most=1_000_000,
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
        train, work = corpus.train, work or Workplace()
        made, counts = ~train.origin.is_original(), corpus.weighed().labels.counts
        if self.settings.kind == "reweight":
            return corpus.with_train(self._reweighted(train, made, counts, work))
        heads = head_labels(counts, self.settings)
        masked = self._masked(train, made, heads)
        facts = {"heads": int(heads.sum()), "labels": len(heads), "pairs": int(masked.nnz)}
        log.info("mask: %(heads)d of %(labels)d labels are heads; %(pairs)d pairs give no loss", facts)
        work.log("mask", **facts)
        ignored = sparse.csr_array(train.ignored + masked)
        ignored.data[:] = 1  # of a pair that was ignored before as well
        return corpus.with_train(replace(train, ignored=checked(ignored)))

    def _reweighted(self, train: Dataset, made: np.ndarray, counts: np.ndarray, work: Workplace) -> Dataset:
        if train.label_weights is not None:
            raise InputError(
                "the labels of made rows have weights already", expected="mask.kind=reweight only once"
            )
        of_labels = reweighted_labels(counts)
        least, most, rows = float(of_labels.min(initial=1)), float(of_labels.max(initial=1)), int(made.sum())
        log.info("mask: labels weigh %.3g to %.3g in %d made rows", least, most, rows)
        work.log("mask", least=least, most=most, rows=rows)
        weights = train.weights * np.where(made, np.float32(self.settings.factor), np.float32(1))
        return replace(train, weights=weights, label_weights=of_labels)

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


def reweighted_labels(counts: np.ndarray) -> np.ndarray:
    """(labels,) float32 with the mean 1: w = L v / sum(v), by the number n of original rows of each label.

    The authors' v is the root of n_max / (n + 1); n_max cancels out.

    >>> reweighted_labels(np.array([50, 10, 5, 1, 0])).round(6).tolist()
    [0.273824006319046, 0.5896049737930298, 0.7983279824256897, 1.3827450275421143, 1.9554970264434814]
    """
    v = (counts + 1.0) ** -0.5
    return np.asarray(len(v) * v / v.sum(), dtype=np.float32)


def _refuse_too_many(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        expected = f"at most {MOST_PAIRS:,}: a larger mask.tail_below, or mask.kind=mask_pos"
        raise InputError(f"mask_all would store {pairs:,} pairs of row and label", expected=expected)
