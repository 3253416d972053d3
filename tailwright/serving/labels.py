"""The labels of a run: found by what a user types, and one of them with what is near it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.corpus import LabelSpace
from tailwright.labels.annotations import neighbours

if TYPE_CHECKING:
    from tailwright.serving.hosted import Hosted

NEAREST = 10


class LabelFinder:
    """Finds labels by a piece of their name or id, in any case."""

    def __init__(self, labels: LabelSpace) -> None:
        self._labels = labels
        self._columns = [pc.utf8_lower(column) for column in (labels.names, labels.ids)]
        # Of those that fit as well, the label that is on more rows is more often meant.
        self._by_rows = np.argsort(-labels.counts, kind="stable")

    def found(self, search: str, limit: int) -> dict[str, Any]:
        """The first labels: those that begin like the search, then those that contain it; and how many fit.

        >>> index = LabelFinder(LabelSpace(["1", "2", "3"], ["blue hat", "hat", "shoe"]))
        >>> [label["name"] for label in index.found("HAT", 5)["labels"]]
        ['hat', 'blue hat']
        """
        begins, contains = self._fits(pc.starts_with, search), self._fits(pc.match_substring, search)
        order = self._by_rows[contains[self._by_rows]]
        order = order[np.argsort(~begins[order], kind="stable")]
        return {"labels": described(self._labels, order[:limit]), "found": len(order)}

    def _fits(self, kernel: Any, search: str) -> np.ndarray:
        """(labels,) bool: by name or by id."""
        either = (
            kernel(column, pattern=search.lower()).to_numpy(zero_copy_only=False) for column in self._columns
        )
        return np.asarray(np.logical_or(*either))


def described(labels: LabelSpace, columns: np.ndarray) -> list[dict[str, Any]]:
    """Id, name and training rows of labels."""
    places = pa.array(columns)
    ids, names = labels.ids.take(places).to_pylist(), labels.names.take(places).to_pylist()
    rows = labels.counts[columns].tolist()
    return [{"id": i, "name": n, "rows": r} for i, n, r in zip(ids, names, rows, strict=True)]


def details(hosted: Hosted, column: int) -> dict[str, Any]:
    """A label, its neighbours in the correlation graph if that is known, and the nearest by their texts."""
    labels, graph = hosted.run.labels, hosted.background.graph
    near: list[dict[str, Any]] = []
    if graph is not None:
        near = [
            _named(labels, edge.column, weight=float(edge.weight))
            for edge in neighbours(graph, column)
            if edge.column != column
        ]
    return {
        "id": labels.ids[column].as_py(),
        "name": labels.names[column].as_py(),
        "text": labels.texts[column].as_py(),
        "rows": int(labels.counts[column]),
        "neighbours": near,
        "neighbours_known": graph is not None,
        "nearest": _nearest(hosted, column),
    }


def _nearest(hosted: Hosted, column: int) -> list[dict[str, Any]]:
    """The labels whose texts have most in common with a label's."""
    vectors = hosted.background.label_vectors
    similarity = (vectors @ vectors[[column]].T).toarray()[:, 0]  # (labels,)
    similarity[column] = 0
    best = np.lexsort((np.arange(len(similarity)), -similarity))[:NEAREST]
    return [
        _named(hosted.run.labels, other, similarity=float(similarity[other]))
        for other in best.tolist()
        if similarity[other] > 0
    ]


def _named(labels: LabelSpace, column: int, **more: float) -> dict[str, Any]:
    return {"id": labels.ids[column].as_py(), "name": labels.names[column].as_py(), **more}
