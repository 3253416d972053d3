"""The trained classifier that a refiner asks: that of a run folder, or a model trained on the original rows.

A training on the way keeps its checkpoints where the run's are, so a killed run goes on there too. A study
trains it once for all cells over the same rows (`tailwright.store.shared`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import logit

from tailwright.augmentation import ScorerSettings
from tailwright.augmentation.filter import Filter, FilterSettings, RowScores
from tailwright.code_version import code_version
from tailwright.data.corpus import Corpus
from tailwright.evaluation.ranking import TopK
from tailwright.models import Model, models
from tailwright.runs.evaluation import refuse_other_labels
from tailwright.runs.run import load
from tailwright.store import FolderReader
from tailwright.store.shared import content_key, shared
from tailwright.training.workplace import Workplace

NEAR = 1e-9  # probabilities come no nearer to 0 and 1


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted model whose scores are log-odds, whatever its own are.

    Scores of models that know no probabilities, such as counts and similarities, are taken for probabilities
    all the same, and those above 1 for certain.
    """

    model: Model

    def log_odds(self, texts: pa.LargeStringArray, k: int) -> TopK:
        """The k best labels of each text, with finite log-odds as scores."""
        top = self.model.predict(texts, k)
        if self.model.card.scores == "log-odds":
            return top
        return TopK(top.ids, logit(np.clip(top.scores.astype(np.float64), NEAR, 1 - NEAR)))


def scorer_for(
    settings: ScorerSettings, corpus: Corpus, *, seed: int = 0, work: Workplace | None = None
) -> Scorer:
    """The classifier that the settings ask for, over the labels of the corpus.

    If it is trained, then on the original rows alone, in the order in which they were first read, so that the
    order of the corpus makes no difference.
    """
    if settings.run is not None:
        run = load(settings.run)
        refuse_other_labels(corpus, run, settings.run)
        return Scorer(run.model)
    kind = models.get(settings.model)
    originals = corpus.train.originals()
    rows = corpus.with_train(originals.take(np.argsort(originals.origin.rows, kind="stable")))
    work = work or Workplace()
    # A log of its own: its epochs are not those of the run.
    place = Workplace(
        None if work.reads is None else work.reads / "scorer", resume=work.resume, writes=work.writes
    )

    def fitted() -> Model:
        model = kind()
        model.fit(rows, seed=seed, work=place)
        return model

    def loaded(folder: FolderReader) -> Model:
        model = kind()
        model.load(folder, len(corpus.labels))
        return model

    def key() -> str:
        code = code_version([__name__, *(part.__module__ for part in models.kinds(settings.model))])
        return content_key(code, settings.model, repr(kind().settings), seed, rows.digest())

    return Scorer(shared("scorer", key, fitted, lambda folder, model: model.save(folder), loaded))


def row_scores(corpus: Corpus, settings: FilterSettings | None = None, *, seed: int = 0) -> RowScores:
    """What `filter` finds of every made row of the corpus, with nothing dropped."""
    method = Filter(settings)
    return method.scores(corpus.train, scorer_for(method.scorer, corpus, seed=seed))
