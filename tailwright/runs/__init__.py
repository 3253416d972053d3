"""Runs: a fitted model with its labels, in memory and in a safe folder.

| file in a run folder | holds |
|---|---|
| `manifest.json` | format version, sha256 and size of every other file |
| `run.json` | model and its settings, seed, number of training rows |
| `labels/` | ids, names and texts (bytes and offsets), training counts |
| `model/` | whatever the model saved |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.errors import InputError, quoted
from tailwright.evaluation import metrics_at_k, sliced_metrics
from tailwright.labels import PROPENSITY_PRESETS, Propensity, head_torso_tail
from tailwright.models import Model, models
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.workplace import Workplace

KS = (1, 3, 5, 10)


@dataclass(frozen=True)
class Predictions:
    """The best labels of each text, best first: user ids, names and scores, one list a text."""

    ids: list[list[str]]
    names: list[list[str]]
    scores: list[list[float]]


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted model, the labels it speaks of, and how it was made."""

    model: Model
    labels: LabelSpace
    train_rows: int
    seed: int = 0

    def predict(self, texts: Sequence[str], k: int = 5) -> Predictions:
        """The k best labels of each text."""
        top = self.model.predict(arrow_strings(texts), k)
        ids, names = self.labels.ids.to_pylist(), self.labels.names.to_pylist()
        found = [row[row >= 0] for row in top.ids]
        return Predictions(
            [[ids[i] for i in row] for row in found],
            [[names[i] for i in row] for row in found],
            [scores[: len(row)].tolist() for row, scores in zip(found, top.scores, strict=True)],
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the run folder: all of it or nothing."""
        with writing(path, kind="run", overwrite=overwrite) as folder:
            facts = {
                "model": self.model.card.name,
                "settings": asdict(self.model.settings),
                "seed": self.seed,
                "train_rows": self.train_rows,
            }
            folder.json("run.json", facts)
            labels = folder.sub("labels")
            labels.strings("ids", self.labels.ids)
            labels.strings("names", self.labels.names)
            labels.strings("texts", self.labels.texts)
            labels.array("counts", self.labels.counts)
            self.model.save(folder.sub("model"))


def fit(
    corpus: Corpus,
    model: str,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    work: Workplace | None = None,
) -> Run:
    """Fit the model of that name on the training rows; `settings` are those of the model, by name."""
    kind = models.get(model)
    fitted = kind(settings_from(kind.Settings, settings or {}))
    fitted.fit(corpus, seed=seed, work=work)
    return Run(fitted, corpus.labels, len(corpus.train.originals()), seed)


def load(path: str | Path) -> Run:
    """The run kept in a folder; anything damaged in it is one clear error, and nothing in it is executed."""
    folder = open_folder(path, kind="run")
    facts = folder.json("run.json")
    wanted = {"model": str, "settings": dict, "seed": int, "train_rows": int}
    for key, kind in wanted.items():
        if not isinstance(facts, dict) or type(facts.get(key)) is not kind:
            raise InputError(f"found {quoted(facts)}", expected=f"{key}: {kind.__name__}", path=path)
    stored = folder.sub("labels")
    try:
        labels = LabelSpace(
            stored.strings("ids"),
            stored.strings("names"),
            stored.strings("texts"),
            stored.array("counts", dtype=np.int64, shape=(None,)),
        )
    except ValueError as error:
        raise InputError(f"found labels that do not fit together: {error}", path=path) from error
    if len(labels) and not 0 <= labels.counts.min() <= labels.counts.max() <= facts["train_rows"]:
        raise InputError("found label counts", expected=f"0..{facts['train_rows']}", path=path)
    kind = models.get(facts["model"])
    model = kind(settings_from(kind.Settings, facts["settings"]))
    model.load(folder.sub("model"), len(labels))
    return Run(model, labels, facts["train_rows"], facts["seed"])


def evaluate(
    run: Run,
    data: Dataset,
    ks: Sequence[int] = KS,
    propensity: Propensity | None = PROPENSITY_PRESETS["default"],
) -> dict[str, Any]:
    """Metrics in percent under keys such as `P@1` and `PSP@5`; `slices` holds the same by label frequency.

    Propensities and slices come from the run's own training counts. Excluded pairs of `data` are neither
    rewarded nor punished: enough labels are asked for that k remain after they are taken out. Without a
    `propensity` the propensity-scored metrics are left out; so they are below 3 training rows, where the
    formula has no meaning.
    """
    if data.labels != len(run.labels):
        raise InputError(f"found rows over {data.labels:,} labels", expected=f"the run's {len(run.labels):,}")
    most_excluded = int(np.diff(data.excluded.indptr).max(initial=0))
    top = run.model.predict(data.texts, min(max(ks) + most_excluded, len(run.labels)))
    weights = None
    if propensity is not None and run.train_rows >= 3:
        weights = propensity.inverse(run.labels.counts, run.train_rows)
    slices = head_torso_tail(run.labels.counts)
    return {
        **metrics_at_k(top.ids, data.targets, weights, ks, data.excluded),
        "slices": sliced_metrics(top.ids, data.targets, weights, slices, ks, data.excluded),
    }
