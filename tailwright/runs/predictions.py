"""`Predictions`: the labels that a run gives texts, in the user's own ids and names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import strings_at
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10  # rows of a repr
NO_LABELS = "no labels"


class Prediction(NamedTuple):
    """The labels of one text, best first; `abstained` is None where that was not asked for."""

    ids: list[str]
    names: list[str]
    scores: list[float]
    abstained: bool | None = None

    def __str__(self) -> str:
        """In words: `shoes 0.91, leather 0.40`."""
        ranked = zip(self.names, self.scores, strict=True)
        return ", ".join(f"{name} {score:.2f}" for name, score in ranked) or NO_LABELS

    def as_dict(self) -> dict[str, Any]:
        """Its fields by name, `abstained` only where it was asked for."""
        return {name: value for name, value in self._asdict().items() if value is not None}


@dataclass(frozen=True, repr=False)
class Predictions:
    """The best labels of each text, best first: user ids, names and scores, one list a text.

    Scores are probabilities if all models of the run give such, else what its model gives. `abstained`, if
    it was asked for, has True for each text that got no labels because the run is not sure of any.

    >>> said = Predictions([["7", "2"], []], [["shoes", "hats"], []], [[0.75, 0.5], []])
    >>> said
    Predictions of 2 texts
      shoes 0.75, hats 0.50
      no labels
    >>> [row.names for row in said], said[0].scores, len(said[:1])
    ([['shoes', 'hats'], []], [0.75, 0.5], 1)
    """

    ids: list[list[str]]
    names: list[list[str]]
    scores: list[list[float]]
    abstained: list[bool] | None = None

    @staticmethod
    def of(top: TopK, labels: LabelSpace, abstained: np.ndarray | None = None) -> Predictions:
        """A ranking in the user's own ids and names; padding may stand anywhere."""
        named = top.ids >= 0
        columns = top.ids[named]
        ends = [0, *np.cumsum(named.sum(axis=1)).tolist()]

        def rows(flat: list[Any]) -> list[list[Any]]:
            return [flat[start:end] for start, end in pairwise(ends)]

        return Predictions(
            rows(strings_at(labels.ids, columns)),
            rows(strings_at(labels.names, columns)),
            rows(top.scores[named].tolist()),
            None if abstained is None else abstained.tolist(),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Prediction]:
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, rows: int) -> Prediction: ...
    @overload
    def __getitem__(self, rows: slice) -> Predictions: ...
    def __getitem__(self, rows: int | slice) -> Prediction | Predictions:
        """The labels of one text, or the predictions of some."""
        abstained = None if self.abstained is None else self.abstained[rows]
        kind: Any = Predictions if isinstance(rows, slice) else Prediction
        found: Prediction | Predictions = kind(self.ids[rows], self.names[rows], self.scores[rows], abstained)
        return found

    def to_arrow(self) -> pa.Table:
        """A table with a row a text: lists of ids, names and scores, and `abstained` if it was asked for."""
        columns = {
            "ids": pa.array(self.ids, pa.list_(pa.large_string())),
            "names": pa.array(self.names, pa.list_(pa.large_string())),
            "scores": pa.array(self.scores, pa.list_(pa.float32())),
        }
        if self.abstained is not None:
            columns["abstained"] = pa.array(self.abstained, pa.bool_())
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """The same as a data frame; an InputError if pandas is not installed."""
        try:
            import pandas as pd
        except ImportError as error:
            problem = "pandas, which makes data frames, is not installed; install it with: pip install pandas"
            raise InputError(problem) from error
        columns = {"ids": self.ids, "names": self.names, "scores": self.scores, "abstained": self.abstained}
        return pd.DataFrame({name: column for name, column in columns.items() if column is not None})

    def to_json(self) -> str:
        """A list with an object a text, as `tailwright predict --json` has it under `predictions`."""
        return json.dumps([row.as_dict() for row in self], ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        heading = f"Predictions of {_count(len(self), 'text')}"
        return "\n  ".join([heading, *map(str, self[:SHOWN]), *self._more()])

    def _repr_html_(self) -> str:
        """A table for notebooks; names are the user's data and may hold anything."""
        cells = "".join(
            f"<tr><td>{row}</td><td>{escape(str(one))}</td></tr>" for row, one in enumerate(self[:SHOWN])
        )
        more = "".join(f"<p>{line}</p>" for line in self._more())
        return f"<table><tr><th>text</th><th>labels</th></tr>{cells}</table>{more}"

    def _more(self) -> list[str]:
        return [f"and {_count(len(self) - SHOWN, 'text')} more"] if len(self) > SHOWN else []


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
