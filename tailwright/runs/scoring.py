"""The trained classifier that a refiner asks: that of a run folder, or a model trained on the original rows.

A model that retrains a part of itself on made rows has learnt from the original ones before: its f0
(`tailwright.models.shared.f0`) is asked where nothing else is set.

A training on the way keeps its checkpoints where the run's are, so a killed run goes on there too. A study
trains it once for all cells over the same rows (`tailwright.store.shared`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tailwright.augmentation import ScorerSettings
from tailwright.augmentation.filter import Filter, FilterSettings, RowScores
from tailwright.code_version import code_version
from tailwright.data.corpus import Corpus
from tailwright.evaluation.ranking import TopK
from tailwright.models import Model, models
from tailwright.progress import stage
from tailwright.runs.evaluation import refuse_other_labels
from tailwright.runs.probability import log_odds_of
from tailwright.runs.run import load
from tailwright.settings import settings_from
from tailwright.store import FolderReader, open_folder, writing
from tailwright.store.sending import folder_as_bytes, write_bytes_as_folder
from tailwright.store.shared import content_key, shared
from tailwright.training.workplace import Workplace

SENT = "sent-model"  # the kind of folder
F0: TypeAlias = Callable[[Corpus], Model]  # gives the f0 of a model in training, fitted on a corpus


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted model whose scores are log-odds, whatever its own are.

    Scores of models that know no probabilities, such as counts and similarities, are taken for probabilities
    all the same, and those above 1 for certain.

    Another process gets it as the files that the model saves, and loads these.
    """

    model: Model
    labels: int

    def log_odds(self, texts: pa.LargeStringArray, k: int) -> TopK:
        """The k best labels of each text, with finite log-odds as scores."""
        with stage("scoring"):
            top = self.model.predict(texts, k)
        return TopK(top.ids, log_odds_of(top, self.model.card.scores))

    def __reduce__(self) -> tuple[Any, ...]:
        model = self.model
        return sent_scorer, (model.card.name, asdict(model.settings), self.labels, files_of(model))


def files_of(model: Model) -> dict[str, np.ndarray]:
    """The bytes of each file that a model saves, by its path in the folder."""
    with TemporaryDirectory() as parent:
        place = Path(parent) / SENT
        with writing(place, kind=SENT) as folder:
            model.save(folder)
        return folder_as_bytes(place, SENT)


def sent_scorer(name: str, settings: dict[str, Any], labels: int, files: Mapping[str, np.ndarray]) -> Scorer:
    """The scorer of a model that another process has saved."""
    kind = models.get(name)
    model = kind(settings_from(kind.Settings, settings))
    with TemporaryDirectory() as parent:
        place = Path(parent) / SENT
        write_bytes_as_folder(files, place)
        model.load(open_folder(place, kind=SENT), labels)
    return Scorer(model, labels)


def scorer_for(
    settings: ScorerSettings,
    corpus: Corpus,
    *,
    seed: int = 0,
    work: Workplace | None = None,
    f0: F0 | None = None,
) -> Scorer:
    """The classifier that the settings ask for, over the labels of the corpus.

    If it is trained, then on the original rows alone, in the order in which they were first read, so that the
    order of the corpus makes no difference. `f0` is that of the model in training, if it has one.
    """
    if settings.run is not None:
        run = load(settings.run)
        refuse_other_labels(corpus, run, settings.run)
        return Scorer(run.model, len(corpus.labels))
    if settings.model == "auto" and f0 is not None:
        return Scorer(f0(corpus), len(corpus.labels))
    name = model_of(settings)
    kind = models.get(name)
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
        code = code_version([__name__, *(part.__module__ for part in models.kinds(name))])
        return content_key(code, name, repr(kind().settings), seed, rows.digest())

    model = shared("scorer", key, fitted, lambda folder, model: model.save(folder), loaded)
    return Scorer(model, len(corpus.labels))


def model_of(settings: ScorerSettings) -> str:
    """The name of the model that is trained for it where no model in training has an f0."""
    return "linear" if settings.model == "auto" else settings.model


def row_scores(corpus: Corpus, settings: FilterSettings | None = None, *, seed: int = 0) -> RowScores:
    """What `filter` finds of every made row of the corpus, with nothing dropped."""
    method = Filter(settings)
    return method.scores(corpus.train, scorer_for(method.scorer, corpus, seed=seed))
