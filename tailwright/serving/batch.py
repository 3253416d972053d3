"""Requests with different options, answered by one pass of the model.

The model scores all texts once, deep enough for what most of them need. Each group of requests with the same
options then goes the way of `Run.predict`, over scores that are there already; so a text gets what it would
get alone. That is so bit for bit for models of kernels and sparse products (linear, label-matcher). Products
of dense matrices round in another way if they have other rows: scores of twin and of a fusion with it differ
by up to 4e-7 of their size, as they do between a batch and single texts of `Run.predict` itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from tailwright.data.dataset import arrow_strings
from tailwright.evaluation.ranking import TopK
from tailwright.models import Model
from tailwright.runs import Run
from tailwright.runs.label_choice import allowed_columns, first_depth
from tailwright.runs.predicting import RankedLabels, Request
from tailwright.runs.tail import depth_for

# A request that needs more labels of each text asks the model itself, so as not to slow the others down.
DEEPEST = 256


@dataclass(frozen=True)
class Options:
    """What is asked about each text of a request; labels by their columns."""

    k: int = 5
    tail: float = 0.0
    threshold: float | None = None
    only: tuple[int, ...] | None = None
    without: tuple[int, ...] = ()

    def request(self, labels: int) -> Request:
        """The request to a run of so many labels; InputError if no label is allowed."""
        chooses = self.only is not None or bool(self.without)
        allowed = allowed_columns(labels, self.only, self.without) if chooses else None
        return Request(self.k, self.tail, self.threshold, allowed)


class Ask(NamedTuple):
    """Texts of one request."""

    texts: Sequence[str]
    options: Options


class LabelGiven(NamedTuple):
    """A label of a text; `probability` is None if the model gives none."""

    column: int
    id: str
    name: str
    probability: float | None
    score: float


class Answer(NamedTuple):
    """The labels of each text of a request, and how many texts were answered with it."""

    texts: list[list[LabelGiven]]
    batch: int


def answers(run: Run, asks: Sequence[Ask]) -> list[Answer]:
    """The answer to each request."""
    texts = [text for ask in asks for text in ask.texts]
    rows = arrow_strings(texts)
    starts = np.cumsum([0, *(len(ask.texts) for ask in asks)])
    groups: dict[Options, list[int]] = {}
    for number, ask in enumerate(asks):
        groups.setdefault(ask.options, []).append(number)
    requests = {options: options.request(len(run.labels)) for options in groups}
    depths = [depth for request in requests.values() if (depth := depth_of(request, run)) <= DEEPEST]
    scored = _Scores.of(run.model, rows, max(depths)) if depths else None
    given: list[list[list[LabelGiven]]] = [[] for _ in asks]
    for options, members in groups.items():
        own = np.concatenate([np.arange(starts[n], starts[n + 1]) for n in members])
        every = len(groups) == 1
        of_group = rows if every else rows.take(pa.array(own))
        known = run
        if scored is not None and depth_of(requests[options], run) <= DEEPEST:
            known = replace(run, model=cast(Model, scored if every else scored.take(own, of_group)))
        lists = _given(run, requests[options].ranked(known, of_group))
        place = 0
        for number in members:
            given[number] = lists[place : place + len(asks[number].texts)]
            place += len(asks[number].texts)
    return [Answer(labels, len(texts)) for labels in given]


def depth_of(request: Request, run: Run) -> int:
    """How many labels of a text the run asks its model for, at first."""
    labels = len(run.labels)
    k = depth_for(request.k, labels) if request.tail else request.k
    return k if request.allowed is None else first_depth(k, request.allowed)


@dataclass(frozen=True, eq=False)
class _Scores:
    """What a `Run` asks of its model, for texts that have been scored already.

    Anything else that is asked of it, such as deeper rankings, goes to the model.
    """

    model: Model
    texts: pa.LargeStringArray
    top: TopK
    known: np.ndarray  # (texts,) bool

    @staticmethod
    def of(model: Model, texts: pa.LargeStringArray, depth: int) -> _Scores:
        return _Scores(model, texts, model.predict(texts, depth), model.knows(texts))

    def take(self, rows: np.ndarray, texts: pa.LargeStringArray) -> _Scores:
        """The same for some of the texts."""
        top = TopK(self.top.ids[rows], self.top.scores[rows])
        return _Scores(self.model, texts, top, self.known[rows])

    def predict(self, texts: pa.LargeStringArray, k: int) -> TopK:
        if k > self.top.k or not texts.equals(self.texts):
            return self.model.predict(texts, k)
        return TopK(self.top.ids[:, :k], self.top.scores[:, :k])

    def knows(self, texts: pa.LargeStringArray) -> np.ndarray:
        return self.known if texts.equals(self.texts) else self.model.knows(texts)

    def reaching(self, allowed: np.ndarray) -> Any:
        other = self.model.reaching(allowed)
        return self if other is self.model else other

    @property
    def card(self) -> Any:
        return self.model.card


def _given(run: Run, ranked: RankedLabels) -> list[list[LabelGiven]]:
    """The labels of each text in the user's own ids and names."""
    shown = ranked.shown
    named = shown.ids >= 0
    columns = shown.ids[named]
    places = pa.array(columns)
    values: list[Any] = shown.scores[named].tolist() if run.gives_probabilities else [None] * len(columns)
    flat = map(
        LabelGiven,
        columns.tolist(),
        run.labels.ids.take(places).to_pylist(),
        run.labels.names.take(places).to_pylist(),
        values,
        ranked.own_scores[named].tolist(),
    )
    return [[next(flat) for _ in range(count)] for count in named.sum(axis=1).tolist()]
