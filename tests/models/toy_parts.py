"""Models that a fusion is made of in tests: each knows some labels, and remembers what it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.evaluation.ranking import TopK, top_k_of_scores
from tailwright.models import Model, ModelCard
from tailwright.settings import Settings, setting
from tailwright.streams import stream

FREQUENT, LABELS = 8, 40


@dataclass(frozen=True)
class ToySettings(Settings):
    loud: float = setting(3.0, "the largest guess", above=0)


class Toy(Model):
    """Finds the right label of "row label" among those it knows; of the others it guesses, and loudly."""

    Settings = ToySettings
    known: ClassVar[tuple[int, int]]
    # All fits and questions of a test: (name of the part, what it was given).
    fits: ClassVar[list[tuple[str, Corpus]]] = []
    questions: ClassVar[list[tuple[str, list[str]]]] = []
    # The parts of these names die when they are to be fitted.
    dying: ClassVar[set[str]] = set()

    labels: int

    def learn(self, corpus: Corpus, *, seed: int, work: Any) -> None:
        self.fits.append((self.card.name, corpus))
        if self.card.name in self.dying:
            raise KilledError
        self.labels = len(corpus.labels)

    def predict(self, texts: Any, k: int) -> TopK:
        words = arrow_strings(texts).to_pylist()
        self.questions.append((self.card.name, words))
        known = (np.arange(self.labels) >= self.known[0]) & (np.arange(self.labels) < self.known[1])
        scores = np.zeros((len(words), self.labels), dtype=np.float32)
        for row, text in enumerate(words):
            number, right = map(int, text.split())
            guesses = stream(0, self.card.name, number).random(self.labels) * self.settings.loud
            scores[row] = np.where(known, 2.0 * (np.arange(self.labels) == right), guesses)
        return top_k_of_scores(scores, k)

    def save(self, folder: Any) -> None:
        folder.array("labels", np.array(self.labels))

    def load(self, folder: Any, labels: int) -> None:
        self.labels = int(folder.array("labels"))


class KnowsFrequent(Toy):
    card = ModelCard("knows-frequent", "x", ("texts",), scores="log-odds")
    known = (0, FREQUENT)


class KnowsRare(Toy):
    card = ModelCard("knows-rare", "x", ("texts", "targets"), scores="log-odds")
    known = (FREQUENT, LABELS)


class KilledError(Exception):
    """Stands for a kill in the middle of a fit."""


def toy_rows(first: int, last: int) -> Dataset:
    """Rows of one label each; half of them carry a frequent one."""
    right = []
    for row in range(first, last):
        draw = stream(0, "toy-rows", row)
        frequent = draw.random() < 0.5
        right.append(int(draw.integers(0, FREQUENT) if frequent else draw.integers(FREQUENT, LABELS)))
    texts = [f"{row} {label}" for row, label in zip(range(first, last), right, strict=True)]
    return Dataset(arrow_strings(texts), pairs_from_lists([[label] for label in right], LABELS))


def toy_corpus(rows: int, valid: Dataset | None = None) -> Corpus:
    return Corpus(toy_rows(0, rows), LabelSpace.numbered(LABELS), valid)


def share_right(top: TopK, data: Dataset) -> float:
    """P@1 of rows of one label."""
    return float((top.ids[:, 0] == data.targets.indices).mean())
