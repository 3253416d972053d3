"""`augment`: a corpus as a method at the rows door leaves it; and which methods can stand where."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwright.augmentation import (
    Augmenter,
    RowAugmenter,
    RowMethod,
    RowRefiner,
    ScorerSettings,
    row_augmenter,
)
from tailwright.augmentation.shared.adding import with_new_rows, with_rows_behind
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.inputs import ReadArguments, Source
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.runs.asked import corpus_of
from tailwright.runs.run import read_facts
from tailwright.runs.scoring import F0, model_of, scorer_for
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger(__name__)


def augment(
    data: Source,
    method: str | RowMethod | Sequence[str | RowMethod],
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    workers: int | None = None,
    work: Workplace | None = None,
    f0: F0 | None = None,
    **reading: Unpack[ReadArguments],
) -> Corpus:
    """The corpus with the new rows of `method` after its training rows; several methods act in turn.

    `data` is whatever `tailwright.read` takes, with its arguments: a corpus, a path, a table, or a pair of
    texts and labels. A method is a name or an instance; `settings` are those of a single one that is named.

    | method | |
    |---|---|
    | `eda` | edits of a few words: synonyms, insertions, swaps, deletions |
    | `wordnet` | synonyms from WordNet for a few words |
    | `gandalf` | label texts as training rows, softly annotated from the label graph |
    | `calibrated-gandalf` | label texts as training rows, annotated with calibrated probabilities of their \
companions |
    | `gda` | texts by a language model that is tuned on pairs of rows with the same labels |
    | `xda` | texts whose masked words a T5 with a learnt prompt fills in anew |
    | `filter` | keeps the made rows that a trained classifier finds diverse and true to their labels |
    | `mask` | made rows give no loss for head labels |

    `tailwright augmenters NAME` shows the settings of one. Methods at the batch door and at the hidden door
    make no rows; `tailwright.train` takes those.

    Rows of weight 0 stay, but they are no sources of new rows and enter no statistics. A method that refines
    adds none; it changes or drops rows that other methods have made, and warns if there are none. `workers`
    defaults to the number of kernel threads; it makes no difference to the rows. `work` is where a method
    logs, and where a classifier that it trains keeps checkpoints. `f0` is that of the model in training, for
    methods that ask a classifier.

    >>> rows = ["red leather shoes", "warm wool hat"], [["shoes"], ["hats"]]
    >>> corpus = augment(rows, "gandalf", settings={"soft": False})
    >>> corpus.train.texts.to_pylist(), corpus.train.origin.names()
    (['red leather shoes', 'warm wool hat', 'hats', 'shoes'], ['', '', 'gandalf', 'gandalf'])
    """
    corpus = corpus_of(data, seed, reading)
    if not isinstance(method, str | RowMethod):
        if settings:
            raise InputError("found several methods, and settings", expected="settings of one method")
        methods = [row_augmenter(each) if isinstance(each, str) else each for each in method]
        check_methods(methods, corpus)
        for each in methods:
            corpus = augment(corpus, each, seed=seed, workers=workers, work=work, f0=f0)
        return corpus
    if isinstance(method, str):
        method = row_augmenter(method, settings)
    if isinstance(method, RowAugmenter):
        return _with_refined_rows(corpus, method, seed=seed, workers=workers, work=work, f0=f0)
    if bool(corpus.train.origin.is_original().all()):
        log.warning("%s: nothing to do, as no method has made a row before it", method.card.name)
        return corpus
    return _refined(corpus, method, seed=seed, work=work, f0=f0)


def _with_refined_rows(
    corpus: Corpus,
    method: RowAugmenter,
    *,
    seed: int,
    workers: int | None,
    work: Workplace | None,
    f0: F0 | None,
) -> Corpus:
    """The corpus with the new rows of a method, which its own refiners see beside original rows alone."""
    added = with_new_rows(corpus, method, seed=seed, workers=workers)
    before = corpus.train
    new = added.train.take(np.arange(len(before), len(added.train)))
    if not len(new) or not method.refiners():
        return added
    beside = corpus.with_train(Dataset.concat([before.originals(), new]))
    for refiner in method.refiners():
        beside = _refined(beside, refiner, seed=seed, work=work, f0=f0)
    made = beside.train.take(np.flatnonzero(~beside.train.origin.is_original()))
    return with_rows_behind(corpus, made)


def _refined(
    corpus: Corpus, method: RowRefiner, *, seed: int, work: Workplace | None, f0: F0 | None
) -> Corpus:
    scorer = method.scorer
    classifier = None if scorer is None else scorer_for(scorer, corpus, seed=seed, work=work, f0=f0)
    return method.refined(corpus, classifier=classifier, work=work)


def check_methods(methods: Sequence[Augmenter], corpus: Corpus) -> None:
    """InputError, before any work, for a refiner that nothing comes before, or whose scorer is not there."""
    made = not bool(corpus.train.origin.is_original().all())
    for method in methods:
        made = made or isinstance(method, RowAugmenter)
        if isinstance(method, RowRefiner) and not made:
            raise InputError(
                f"{method.card.name} acts on rows that methods before it made, and there are none",
                expected="a method that adds rows before it, such as eda, or a corpus that has such rows",
            )
        for scorer in scorers_of(method):
            if scorer.run is not None:
                read_facts(scorer.run)
            else:
                models.get(model_of(scorer))


def scorers_of(method: Augmenter) -> list[ScorerSettings]:
    """The classifiers that a method asks, itself or by its refiners."""
    refiners = method.refiners() if isinstance(method, RowAugmenter) else (method,)
    return [r.scorer for r in refiners if isinstance(r, RowRefiner) and r.scorer is not None]
