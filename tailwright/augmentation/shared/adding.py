"""The new rows of a method, added to a corpus; made once for all trainings that share their work."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.augmentation import RowAugmenter
from tailwright.augmentation.shared.sources import places_of_origin
from tailwright.code_version import code_version
from tailwright.data.corpus import Corpus, load_corpus, save_corpus
from tailwright.data.dataset import Dataset
from tailwright.errors import InputError
from tailwright.store.shared import content_key, shared


def with_new_rows(corpus: Corpus, method: RowAugmenter, *, seed: int, workers: int | None) -> Corpus:
    """See `tailwright.augment`."""
    weight = np.float32(method.settings.weight)
    if not weight:
        return corpus
    new = _shared_rows(method, corpus.weighed(), seed=seed, workers=workers or numba.get_num_threads())
    ids = _ids_of_sources(corpus.train, new)
    return with_rows_behind(corpus, replace(new, weights=weight * new.weights, ids=ids))


def _ids_of_sources(train: Dataset, new: Dataset) -> pa.LargeStringArray | None:
    """The id of each new row: that of the row that it was made of, empty if it was made of none."""
    if train.ids is None or not len(new):
        return None
    places = places_of_origin(train, new.origin)
    return pc.fill_null(train.ids.take(pa.array(places, mask=places < 0)), "")


def with_rows_behind(corpus: Corpus, new: Dataset) -> Corpus:
    """The corpus with made rows behind its training rows.

    Label weights hold for all made rows of a dataset, so made rows that have them may not join others that
    have none: that is an InputError.
    """
    train = corpus.train
    earlier = not bool(train.origin.is_original().all())
    if len(new) and earlier and (train.label_weights is None) != (new.label_weights is None):
        raise InputError(
            "some made rows have label weights and others have not",
            expected="`--mask kind=reweight`, which is behind all methods that make rows",
        )
    return corpus.with_train(Dataset.concat([train, new]))


def _shared_rows(method: RowAugmenter, corpus: Corpus, *, seed: int, workers: int) -> Dataset:
    """The result of `method.new_rows`; see `tailwright.store.shared`.

    Rows are shared whatever the setting `weight`. A method from outside this package is always asked anew,
    for the version of its code is not known.
    """
    kind = type(method)
    if not kind.__module__.startswith("tailwright."):
        return method.new_rows(corpus, seed=seed, workers=workers)
    rows = shared(
        "rows",
        lambda: content_key(
            code_version([kind.__module__]),
            kind.card.name,
            repr(replace(method.settings, weight=1.0)),
            *method.depends_on(),
            seed,
            corpus.digest(),
        ),
        lambda: Corpus(method.new_rows(corpus, seed=seed, workers=workers), corpus.labels),
        save_corpus,
        load_corpus,
    )
    return rows.train
