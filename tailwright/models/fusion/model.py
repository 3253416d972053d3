"""Fusion: several models trained on the same rows, and a learnt combination of what they say (`linear+twin`).

A share of the training rows is held out from the parts. For each of these rows every part names its best
labels, and a small network (`_fusion_network`) learns from the rows' own labels how far to believe which
part, by how sure it is, whether the others name the label too, and how frequent the label is. Where the
corpus has validation rows, those are used and nothing is held out.

Held-out tenths of the training rows, P@1 / PSP@5, parts `linear` (one tree) and `twin` (128 wide), one run:

| | winapi-seealso | tibkat-keywords-titles | yso-finna-en |
|---|---|---|---|
| linear | 69.3 / 44.6 | 45.5 / 20.1 | 39.6 / 31.3 |
| twin | 73.4 / 68.5 | 45.6 / 24.3 | 39.2 / 31.9 |
| a linear combination, each label by itself, of better parts | 74.7 / 67.8 | 49.5 / 25.5 | |
| the network, each label by itself | 78.9 / 69.2 | 48.9 / 25.3 | 42.5 / 34.7 |
| the network, right against wrong labels (taken) | 80.1 / 71.1 | 49.5 / 25.4 | 43.1 / 34.8 |
| that with a twin of width 256 | 80.8 / 72.7 | 49.9 / 26.0 | |
| and three trees | 81.6 / 72.9 | 49.9 / 26.5 | |
| `linear` with three trees and label texts as rows, alone | 73.8 / 61.1 | 47.9 / 24.1 | |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tailwright.augmentation import augmenters
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, arrow_strings, share_of
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.labels import PROPENSITY_PRESETS
from tailwright.models import Model, ModelCard, models
from tailwright.models.fusion.candidates import candidates_of
from tailwright.models.fusion.combination import Combination, plain
from tailwright.settings import settings_from
from tailwright.store import FolderReader, FolderWriter, open_folder, writing
from tailwright.streams import stream
from tailwright.training.memory import give_back
from tailwright.training.workplace import Workplace

ROWS_A_BLOCK = 4096
BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))  # nothing is certain
# What a part is set to inside a fusion, where that differs from what it is alone: the parts make up for each
# other's weaknesses, so that much cheaper ones do (see the table above).
INSIDE: dict[str, dict[str, Any]] = {"linear": {"trees": 1}, "twin": {"width": 128}}


@dataclass(frozen=True)
class FusionSettings:
    """Settings of a fusion; those of its parts are set as `PART.NAME=VALUE`.

    | setting | meaning |
    |---|---|
    | `held_out`, `most_held_out` | share of the rows that the combination is learnt on, at most so many |
    | `fewest` | with fewer rows to learn on, the parts are weighed alike |
    | `candidates` | best labels that each part names for a text |
    | `hidden` | units of the network |
    | `tail` | how much a rare label counts for more: its inverse propensity to this power; 0: all alike |
    """

    held_out: float = 0.05
    most_held_out: int = 2000
    fewest: int = 50
    candidates: int = 25
    hidden: int = 32
    tail: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.held_out < 1:
            raise ValueError(f"held_out must be in (0, 1), got {self.held_out}")
        for name in ("most_held_out", "fewest", "candidates", "hidden"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if not 0 <= self.tail <= 1:
            raise ValueError(f"tail must be in [0, 1], got {self.tail}")


class Fusion(Model):
    """A model of several; `fusion_of` makes the class for given parts."""

    kinds: ClassVar[dict[str, type[Model]]]  # by the name of their field in the settings

    parts: list[Model]
    combination: Combination
    counts: np.ndarray  # (labels,) int64: rows that the parts were trained on

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        learning, held_out = self._held_out(corpus, seed)
        self.counts = learning.labels.counts
        # A finished part waits in its folder if there is one, so that only one is in memory at a time.
        fitted = [self._fitted(name, learning, seed, work) for name in self.kinds]
        self.parts = [part if isinstance(part, Model) else self._loaded(*part) for part in fitted]
        chosen = self.settings
        if len(held_out) < chosen.fewest:
            self.combination = plain(len(self.parts), chosen.hidden)
            return
        from tailwright.models.fusion.learning import learnt
        from tailwright.training.threads import torch_threads

        # One thread: the steps are so small that two spend their time waiting for each other.
        with work.phase("combination", rows=len(held_out)), torch_threads(1):
            found = [part.predict(held_out.texts, chosen.candidates) for part in self.parts]
            rows = max(len(learning.train.originals()), 3)
            emphasis = PROPENSITY_PRESETS["default"].inverse(self.counts, rows) ** chosen.tail
            self.combination = learnt(
                candidates_of(found, self._log_odds, self.counts),
                held_out,
                hidden=chosen.hidden,
                emphasis=emphasis,
                seed=seed,
            )

    def _held_out(self, corpus: Corpus, seed: int) -> tuple[Corpus, Dataset]:
        """The corpus that the parts learn from, and the rows that the combination learns from."""
        if corpus.valid is not None and len(corpus.valid):
            return corpus, corpus.valid
        train = corpus.train
        able = np.flatnonzero(train.origin.is_original() & _labelled(train))
        count = min(share_of(len(able), self.settings.held_out), self.settings.most_held_out)
        if count < self.settings.fewest:
            return corpus, train.take([])
        # Drawn by the place in the user's file, so that the order of rows here makes no difference.
        by_place = able[np.argsort(train.origin.rows[able], kind="stable")]
        held = np.zeros(len(train), dtype=bool)
        held[stream(seed, "fusion/held-out").permutation(by_place)[:count]] = True
        kept = np.flatnonzero(~held & ~_made_of(train, held))
        return corpus.with_train(train.take(kept)), train.take(np.flatnonzero(held))

    def _fitted(
        self, name: str, corpus: Corpus, seed: int, work: Workplace
    ) -> Model | tuple[str, FolderReader, int]:
        """A fitted part, or the name, folder and number of labels to load it with.

        One that a killed training had finished is not fitted again.
        """
        kind, place, labels = self.kinds[name], work.sub(name), len(corpus.labels)
        finished = None if place.folder is None else place.folder / "finished"
        if finished is None or not place.resume or not finished.exists():
            part = kind(getattr(self.settings, name))
            part.mixes = self.mixes if "batch" in kind.card.doors else ()
            part.device = self.device
            with work.phase(name):
                part.fit(corpus, seed=seed, work=place)
            if finished is None:
                return part
            with writing(finished, kind="part", overwrite=True) as folder:
                part.save(folder)
            del part
            give_back()
        return name, open_folder(finished, kind="part"), labels

    def _loaded(self, name: str, folder: FolderReader, labels: int) -> Model:
        part = self.kinds[name](getattr(self.settings, name))
        part.load(folder, labels)
        return part

    @property
    def _log_odds(self) -> list[bool]:
        return [part.card.scores == "log-odds" for part in self.parts]

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        rows, named = arrow_strings(texts), self.settings.candidates
        whole = [TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))]
        for start in range(0, len(rows), ROWS_A_BLOCK):
            block = rows.slice(start, ROWS_A_BLOCK)
            found = [part.predict(block, max(named, k)) for part in self.parts]
            best = [TopK(top.ids[:, :named], top.scores[:, :named]) for top in found]
            whole.append(_filled(self._fused(best, k), found))
        return TopK.concat(whole)

    def _fused(self, found: Sequence[TopK], k: int) -> TopK:
        """The k best of the candidates, by their chances."""
        candidates = candidates_of(found, self._log_odds, self.counts)
        log_odds = self.combination.log_odds(candidates.features)
        order = np.lexsort((candidates.labels, -log_odds, candidates.rows))
        rows = candidates.rows[order]
        place = np.arange(len(rows)) - np.searchsorted(rows, rows)
        kept = place < k
        shape = (candidates.texts, k)
        ids, scores = np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32)
        at = (rows[kept], place[kept])
        ids[at] = candidates.labels[order][kept]
        chances = 1 / (1 + np.exp(-np.clip(log_odds[order][kept], -60, 60)))
        scores[at] = np.minimum(chances, BELOW_ONE)
        return TopK(ids, scores)

    def save(self, folder: FolderWriter) -> None:
        for name, part in zip(self.kinds, self.parts, strict=True):
            part.save(folder.sub(name))
        self.combination.save(folder)
        folder.array("counts", self.counts)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.parts = [self._loaded(name, folder.sub(name), labels) for name in self.kinds]
        self.combination = Combination.load(folder, len(self.parts), self.settings.hidden)
        self.counts = folder.array("counts", dtype=np.int64, shape=(labels,))
        if len(self.counts) and self.counts.min() < 0:
            raise InputError("found counts below 0", expected="training rows a label", path=folder.path)


@cache
def fusion_of(name: str) -> type[Model]:
    """The class of the fusion `name`, such as "linear+twin"."""
    names = name.split("+")
    if len(set(names)) < len(names):
        raise InputError(f"{name} names a model twice", expected="different models, as in linear+twin")
    kinds = {part.replace("-", "_"): models.get(part) for part in names}
    fields = []
    for part, kind in kinds.items():
        default: Any = settings_from(kind.Settings, INSIDE.get(part, {}))
        fields.append((part, kind.Settings, field(default=default)))
    cards = [kind.card for kind in kinds.values()]

    def union(what: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item for card in cards for item in getattr(card, what)))

    return type(
        "Fusion",
        (Fusion,),
        {
            "__doc__": Fusion.__doc__,
            "__module__": __name__,  # whose code it is, which `abc` would else be taken for
            "kinds": kinds,
            "card": ModelCard(
                name=name,
                summary=f"{' and '.join(names)}, weighed by a network that held-out rows teach",
                reads=union("reads"),
                doors=union("doors"),
            ),
            "Settings": dataclasses.make_dataclass(
                "Settings", fields, bases=(FusionSettings,), frozen=True, namespace={"__module__": __name__}
            ),
        },
    )


def _labelled(train: Dataset) -> np.ndarray:
    """(rows,) bool: which have a label that gives a loss."""
    return np.diff(train.learnt_targets().indptr) > 0


def _made_of(train: Dataset, held: np.ndarray) -> np.ndarray:
    """(rows,) bool: augmented rows whose source is held out; in training they would give its labels away."""

    def is_of_a_row(method: str) -> bool:
        # A method that makes targets of its own, as Gandalf does of label texts, makes them of no row.
        known = method in augmenters.names()
        return bool(method) and (augmenters.get(method).card.keeps_targets if known else True)

    of_a_row = np.array([is_of_a_row(method) for method in train.origin.methods])[train.origin.codes]
    return of_a_row & np.isin(train.origin.rows, train.origin.rows[held])


def _filled(fused: TopK, found: Sequence[TopK]) -> TopK:
    """Rows with fewer than k candidates get what the parts name beyond, in the order of their places."""
    short = np.flatnonzero((fused.ids < 0).any(axis=1))
    for row in short:
        ids, scores = fused.ids[row], fused.scores[row]
        have = int((ids >= 0).sum())
        named = np.stack([top.ids[row] for top in found], axis=1).ravel()  # first places first
        ranked = set(ids[:have].tolist())
        spare = [label for label in dict.fromkeys(named[named >= 0].tolist()) if label not in ranked]
        more = spare[: len(ids) - have]
        ids[have : have + len(more)] = more
        least = scores[have - 1] if have else 1.0
        scores[have : have + len(more)] = least / np.arange(2, len(more) + 2)
    return fused
