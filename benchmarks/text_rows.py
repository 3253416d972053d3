"""Some rows of a real dataset, drawn by a fixed seed: what benchmarks of the long-text models train on."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import common
import numpy as np
import pyarrow as pa

import tailwright as tw
from tailwright.data import Corpus, Dataset, LabelSpace
from tailwright.streams import stream

DATASET = "tibkat-gnd-en"


def some_rows(
    rows: int,
    *,
    labels: Literal["carried", "all"] = "carried",
    test_rows: int = 0,
    label_rows: int = 0,
    dataset: str = DATASET,
    seed: int = 0,
) -> Corpus:
    """So many training rows, and test rows that carry a label; without validation rows.

    With `carried` the labels are those of the training rows, with `all` those of the whole dataset. With
    `label_rows` only those count that so many of all training rows carry, and rows without one are not drawn.
    """
    corpus = tw.read(common.data_folder() / dataset)
    train = _drawn(_with_frequent(corpus.train, label_rows), rows, seed, "train")
    kept = np.unique(train.targets.indices) if labels == "carried" else np.arange(train.labels)
    space = corpus.labels
    columns = [column.take(pa.array(kept)) for column in (space.ids, space.names, space.texts)]
    splits = {"train": _over(train, kept)}
    if test_rows:
        test = _over(corpus.splits()["test"], kept)
        answerable = test.take(np.flatnonzero(np.diff(test.targets.indptr)))
        splits["test"] = _drawn(answerable, test_rows, seed, "test")
    return Corpus.of_splits(LabelSpace(*columns), splits)


def _drawn(data: Dataset, rows: int, seed: int, split: str) -> Dataset:
    drawn = stream(seed, f"bench-{split}-rows").permutation(len(data))[:rows]
    return data.take(np.sort(drawn))


def _with_frequent(data: Dataset, label_rows: int) -> Dataset:
    """The rows with a label that so many of them carry, without their other labels; 0: all as they are."""
    if not label_rows:
        return data
    carried = np.bincount(data.targets.indices, minlength=data.labels) >= label_rows
    frequent = data.targets.multiply(carried[None, :]).tocsr()
    frequent.eliminate_zeros()
    return replace(data, targets=frequent).take(np.flatnonzero(np.diff(frequent.indptr)))


def _over(data: Dataset, labels: np.ndarray) -> Dataset:
    """The same rows over some of the labels."""
    pairs = {name: getattr(data, name)[:, labels] for name in ("targets", "ignored", "excluded")}
    return replace(data, **pairs)
