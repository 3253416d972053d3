"""`augment`: a corpus as a method at the rows door leaves it; and which methods can stand where."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numba

from tailwright.augmentation import Augmenter, RowAugmenter, RowMethod, RowRefiner, row_augmenter
from tailwright.augmentation.shared.adding import with_new_rows
from tailwright.data.corpus import Corpus
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.runs.run import read_facts
from tailwright.runs.scoring import scorer_for
from tailwright.training.workplace import Workplace

log = logging.getLogger(__name__)


def augment(
    corpus: Corpus,
    method: str | RowMethod,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    workers: int | None = None,
    work: Workplace | None = None,
) -> Corpus:
    """The corpus with the new rows of `method` (a name or an instance) after its training rows.

    Rows of weight 0 stay, but they are no sources of new rows and enter no statistics. A method that refines
    adds none; it changes or drops rows that other methods have made, and warns if there are none. `workers`
    defaults to the number of kernel threads; it makes no difference to the rows. `work` is where a method
    logs, and where a classifier that it trains keeps checkpoints.
    """
    if isinstance(method, str):
        method = row_augmenter(method, settings)
    if isinstance(method, RowAugmenter):
        return with_new_rows(corpus, method, seed=seed, workers=workers)
    if bool(corpus.train.origin.is_original().all()):
        log.warning("%s: nothing to do, as no method has made a row before it", method.card.name)
        return corpus
    scorer = method.scorer
    classifier = None if scorer is None else scorer_for(scorer, corpus, seed=seed, work=work)
    threads = workers or numba.get_num_threads()
    return method.refined(corpus, classifier=classifier, seed=seed, workers=threads, work=work)


def check_methods(methods: Sequence[Augmenter], corpus: Corpus) -> None:
    """InputError, before any work, for a refiner that nothing comes before, or whose scorer is not there."""
    made = not bool(corpus.train.origin.is_original().all())
    for method in methods:
        made = made or isinstance(method, RowAugmenter)
        if not isinstance(method, RowRefiner):
            continue
        if not made:
            raise InputError(
                f"{method.card.name} acts on rows that methods before it made, and there are none",
                expected="a method that adds rows before it, such as eda, or a corpus that has such rows",
            )
        if method.scorer is not None and method.scorer.run is not None:
            read_facts(method.scorer.run)
        elif method.scorer is not None:
            models.get(method.scorer.model)
