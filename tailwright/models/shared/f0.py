"""f0: the model that learns from the original rows alone, before a part of it is retrained on made rows too.

The XDA paper calls it so. It scores the made rows, and the retraining begins with its encoder. It is fitted
once: a resumed run finds it in its work folder, and trainings that share their work find it there, whatever
their made rows and however they retrain (`tailwright.store.shared`).
"""

from __future__ import annotations

import numpy as np

from tailwright.code_version import code_version
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.models import Model
from tailwright.progress import stage
from tailwright.store import FolderReader, FolderWriter, open_folder, writing
from tailwright.store.shared import content_key, shared, shared_folder
from tailwright.training.team import current_team
from tailwright.training.workplace import Workplace


def fitted_f0(f0: Model, corpus: Corpus, *, seed: int, work: Workplace) -> Model:
    """`f0` fitted on the original rows of the corpus, or the same as it was fitted before."""
    rows = corpus.weighed()
    rows = rows.with_train(rows.train.originals())
    place = work.sub("f0")

    def fitted() -> Model:
        with work.phase("f0", rows=len(rows.train)), stage("f0"):
            f0.fit(rows, seed=seed, work=place)
        return f0

    def loaded(folder: FolderReader) -> Model:
        f0.load(folder, len(rows.labels))
        return f0

    def save(folder: FolderWriter, model: Model) -> None:
        model.save(folder)

    def key() -> str:
        code = code_version([__name__, type(f0).__module__])
        return content_key(code, repr(f0.settings), seed, rows.digest())

    # A team fits it together, so none of its processes may wait for another one's work.
    if shared_folder() is not None and current_team().size == 1:
        return shared("f0", key, fitted, save, loaded)
    if place.reads is not None and place.resume and (place.reads / "finished").exists():
        return loaded(open_folder(place.reads / "finished", kind="f0"))
    model = fitted()
    if place.folder is not None:
        with writing(place.folder / "finished", kind="f0", overwrite=True) as folder:
            save(folder, model)
    return model


def makers(data: Dataset) -> set[str]:
    """The methods that made rows of a dataset."""
    origin = data.origin
    return {origin.methods[code] for code in np.unique(origin.codes).tolist()} - {""}
