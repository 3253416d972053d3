"""A run that is served, ready for requests: loaded, warm, with its queue."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.dataset import Dataset
from tailwright.data.text.tfidf import TfIdf
from tailwright.errors import InputError
from tailwright.labels import correlation_graph
from tailwright.labels.lookup import LabelLookup
from tailwright.runs import Run, load
from tailwright.runs.hub import folder_of
from tailwright.runs.nearest_rows import RowSearch, training_rows
from tailwright.serving.batch import Answer, Ask, Options, answers
from tailwright.serving.labels import LabelFinder
from tailwright.serving.log import now
from tailwright.serving.metrics import Metrics
from tailwright.serving.queue import WorkQueue
from tailwright.serving.settings import Limits, RunAddress
from tailwright.store.errors import errors_of_reading
from tailwright.store.manifest import MANIFEST

_TRIES = 3  # to load a folder that is replaced meanwhile
_WARM = ("a text", "another text of some more words")


class Background:
    """What is slow to make and only some requests need; used by one thread, made when it is first asked for.

    The training rows are read where the run was trained; without them, there is no graph and no search.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    @cached_property
    def rows(self) -> Dataset | None:
        try:
            rows = training_rows(self._run)
        except (InputError, OSError):
            return None
        # Labels that came later by their texts are on no row.
        return rows if rows.labels == len(self._run.labels) else None

    @cached_property
    def row_search(self) -> RowSearch | None:
        return None if self.rows is None else RowSearch(self._run, self.rows)

    @cached_property
    def graph(self) -> sparse.csr_array | None:
        """(labels, labels): the correlation graph, as `tailwright graph` makes it."""
        return None if self.rows is None else correlation_graph(self.rows.originals().targets)

    @cached_property
    def label_vectors(self) -> sparse.csr_array:
        """(labels, words) of unit length: the labels' own texts."""
        return TfIdf.fit_transform(self._run.labels.texts)[1]


@dataclass(frozen=True, eq=False)
class Hosted:
    """One version of a run; a replaced folder makes another."""

    name: str
    folder: Path
    run: Run
    version: str
    loaded: str
    lookup: LabelLookup
    labels: LabelFinder
    background: Background
    queue: WorkQueue[Ask, Answer]


def hosted(address: RunAddress, limits: Limits, metrics: Metrics) -> Hosted:
    """Load a run and ask it something, so that its first request is as quick as the others.

    A damaged folder is an InputError. Everything that is made here is made outside the event loop.
    """
    folder = folder_of(address.path)
    for _ in range(_TRIES):
        version = version_of(folder)
        run = load(folder, mapped=True)
        if version_of(folder) == version:
            break
    names = run.labels.names
    texts = [*_WARM, *names.take(pa.array(np.arange(min(len(names), 2)))).to_pylist()]
    for count in (1, len(texts)):
        answers(run, [Ask(texts[:count], Options(k=min(5, max(len(names), 1))))])
    lookup = LabelLookup(run.labels)
    _ = "" in lookup  # its tables of ids and names
    batch, waiting = metrics.batch.labels(address.name), metrics.waiting.labels(address.name, "predictions")

    def work(asks: list[Ask]) -> list[Answer]:
        batch.observe(sum(len(ask.texts) for ask in asks))
        return answers(run, asks)

    queue: WorkQueue[Ask, Answer] = WorkQueue(
        f"predict {address.name}",
        work,
        most_waiting=limits.queue,
        most_at_once=limits.batch,
        watch=waiting.set,
    )
    return Hosted(
        address.name,
        folder,
        run,
        version,
        now(),
        lookup,
        LabelFinder(run.labels),
        Background(run),
        queue,
    )


def version_of(folder: Path) -> str:
    """A short digest of a run folder: of its manifest, which has the digests of all files."""
    path = folder / MANIFEST
    with errors_of_reading(path):
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
