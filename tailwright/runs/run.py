"""`Run`: a fitted model, the labels it speaks of, and how it was made.

| file in a run folder | holds |
|---|---|
| `manifest.json` | format version, sha256 and size of every other file |
| `run.json` | model and its settings, augmentations, seed, number of training rows, where these were |
| `labels/` | ids, names and texts (bytes and offsets), training counts |
| `model/` | whatever the model saved |
| `log.jsonl` | how the training went; not in the manifest |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import LabelSpace
from tailwright.data.corpus_folder import load_labels, save_labels
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError, quoted
from tailwright.evaluation.ranking import TopK
from tailwright.models import Model, models
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing

_FACTS = {"model": str, "settings": dict, "augment": list, "seed": int, "train_rows": int, "data": str}


@dataclass(frozen=True)
class Predictions:
    """The best labels of each text, best first: user ids, names and scores, one list a text."""

    ids: list[list[str]]
    names: list[list[str]]
    scores: list[list[float]]

    @staticmethod
    def of(top: TopK, labels: LabelSpace) -> Predictions:
        """A ranking in the user's own ids and names."""
        found = [row[row >= 0].tolist() for row in top.ids]
        return Predictions(
            [[labels.ids[i].as_py() for i in row] for row in found],
            [[labels.names[i].as_py() for i in row] for row in found],
            [scores[: len(row)].tolist() for row, scores in zip(found, top.scores, strict=True)],
        )


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted model with its labels; `train_rows` are original rows, `augment` names what was added.

    `data` is where the corpus was read from, empty if that is unknown: the test rows may be found there.
    """

    model: Model
    labels: LabelSpace
    train_rows: int
    seed: int = 0
    augment: tuple[str, ...] = ()
    data: str = ""

    @property
    def name(self) -> str:
        """What it is called in a heading: its model."""
        return self.model.card.name

    def top(
        self,
        texts: pa.LargeStringArray | Sequence[str],
        k: int,
        excluded: sparse.csr_array | None = None,
    ) -> TopK:
        """The k best labels of each text as numbers and scores, best first.

        `excluded` (texts, labels) are pairs that the caller will take out of the ranking.
        """
        if excluded is None:
            return self.model.predict(texts, k)
        return self.model.predict_besides(texts, k, excluded)

    def predict(self, texts: Sequence[str], k: int = 5) -> Predictions:
        """The k best labels of each text."""
        return Predictions.of(self.top(arrow_strings(texts), k), self.labels)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the run folder: all of it or nothing."""
        with writing(path, kind="run", overwrite=overwrite) as folder:
            facts = {
                "model": self.model.card.name,
                "settings": asdict(self.model.settings),
                "augment": list(self.augment),
                "seed": self.seed,
                "train_rows": self.train_rows,
                "data": self.data,
            }
            folder.json("run.json", facts)
            labels = folder.sub("labels")
            save_labels(labels, self.labels)
            labels.array("counts", self.labels.counts)
            self.model.save(folder.sub("model"))


def load(path: str | Path) -> Run:
    """The run kept in a folder; anything damaged in it is one clear error, and nothing in it is executed."""
    folder = open_folder(path, kind="run")
    facts = folder.json("run.json")
    if isinstance(facts, dict):
        facts.setdefault("data", "")  # runs of older versions do not say
    for key, kind in _FACTS.items():
        if not isinstance(facts, dict) or type(facts.get(key)) is not kind:
            raise InputError(f"found {quoted(facts)}", expected=f"{key}: {kind.__name__}", path=path)
    stored = folder.sub("labels")
    try:
        labels = load_labels(stored).with_counts(stored.array("counts", dtype=np.int64, shape=(None,)))
    except ValueError as error:
        raise InputError(f"found labels that do not fit together: {error}", path=path) from error
    if len(labels) and not 0 <= labels.counts.min() <= labels.counts.max() <= facts["train_rows"]:
        raise InputError("found label counts", expected=f"0..{facts['train_rows']}", path=path)
    model_kind = models.get(facts["model"])
    model = model_kind(settings_from(model_kind.Settings, facts["settings"]))
    model.load(folder.sub("model"), len(labels))
    augment = tuple(str(name) for name in facts["augment"])
    return Run(model, labels, facts["train_rows"], facts["seed"], augment, facts["data"])
