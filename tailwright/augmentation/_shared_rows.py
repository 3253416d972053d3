"""The rows of a method at the rows door, made once for all trainings that share their work."""

from __future__ import annotations

from dataclasses import replace

from tailwright.augmentation import RowAugmenter
from tailwright.code_version import code_version
from tailwright.data.corpus import Corpus
from tailwright.data.corpus_folder import load_corpus, save_corpus
from tailwright.data.dataset import Dataset
from tailwright.store.shared import content_key, shared


def shared_rows(method: RowAugmenter, corpus: Corpus, *, seed: int, workers: int) -> Dataset:
    """What `method.new_rows` gives; see `tailwright.store.shared`.

    The weight of the rows is no part of what is shared. A method from outside this package is always asked
    anew, for the version of its code is not known.
    """
    kind = type(method)
    if not kind.__module__.startswith("tailwright."):
        return method.new_rows(corpus, seed=seed, workers=workers)
    made = shared(
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
    return made.train
