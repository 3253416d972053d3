"""New rows to read beside their sources: some with rare labels, and the least and the most similar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.evaluation.ranking import TopK
from tailwright.labels import head_torso_tail
from tailwright.runs.run import Run
from tailwright.streams import stream
from tailwright.study.quality.sources import Pairing

DRAWN, LEAST, MOST = "drawn at random, rare labels first", "least similar", "most similar"
PREDICTED = 5

Ranking = Callable[[pa.LargeStringArray, int], TopK]  # the k best labels of each text


@dataclass(frozen=True)
class ExampleLabel:
    """A label of a row, and how many original training rows have it."""

    name: str
    rows: int


@dataclass(frozen=True)
class Guess:
    """A label that a model predicts, and whether the row has it."""

    name: str
    right: bool


@dataclass(frozen=True)
class Example:
    """A new row, its source (None if it has none), its labels, rarest first, and what a model predicts."""

    kind: str
    source: str | None
    new: str
    labels: tuple[ExampleLabel, ...]
    similarity: float | None
    source_guesses: tuple[Guess, ...] = ()
    new_guesses: tuple[Guess, ...] = ()


def examples(
    corpus: Corpus, pairing: Pairing, ratios: np.ndarray, count: int, run: Run | None = None, seed: int = 0
) -> tuple[Example, ...]:
    """At most `count`, a third each of the least and the most similar; `ratios` are those of the pairs."""
    kinds = _selected(corpus, pairing, ratios, count, seed)
    shown, ratio_of = list(kinds), dict(zip(pairing.paired().tolist(), ratios.tolist(), strict=True))
    ranking = None if run is None else run.top
    found = described(corpus, pairing.rows[shown], pairing.sources[shown], list(kinds.values()), ranking)
    return tuple(replace(one, similarity=ratio_of.get(i)) for i, one in zip(shown, found, strict=True))


def described(
    corpus: Corpus, rows: np.ndarray, sources: np.ndarray, kinds: Sequence[str], ranking: Ranking | None
) -> list[Example]:
    """The new rows at the places `rows`, each with its source (-1: none) and why it is shown.

    `ranking` is asked for the first labels of both texts; without it there are no predictions.
    """
    if not len(rows):
        return []
    train, names, counts = corpus.train, corpus.labels.names, corpus.labels.counts
    columns = [_columns(corpus, int(row)) for row in rows]
    new = train.texts.take(pa.array(rows))
    # A row without a source stands in for it, so that the two sides have the same length.
    before = train.texts.take(pa.array(np.where(sources >= 0, sources, rows)))
    new_guesses, source_guesses = (_guesses(corpus, ranking, side, columns) for side in (new, before))
    return [
        Example(
            kind=kind,
            source=before[i].as_py() if sources[i] >= 0 else None,
            new=new[i].as_py(),
            labels=tuple(ExampleLabel(names[c].as_py(), int(counts[c])) for c in columns[i]),
            similarity=None,
            source_guesses=source_guesses[i] if sources[i] >= 0 else (),
            new_guesses=new_guesses[i],
        )
        for i, kind in enumerate(kinds)
    ]


def _selected(corpus: Corpus, pairing: Pairing, ratios: np.ndarray, count: int, seed: int) -> dict[int, str]:
    """New rows to show, each with the reason; none is taken twice."""
    order = stream(seed, f"examples-{pairing.method}").permutation(len(pairing.rows))
    by_rarity = order[np.argsort(_rank_of_rarest(corpus, pairing.rows[order]), kind="stable")]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    paired = pairing.paired()
    least = paired[np.lexsort((place[paired], ratios))]
    most = paired[np.lexsort((place[paired], -ratios))]
    third = count // 3
    extremes: dict[int, str] = {}
    for kind, rows in ((LEAST, least), (MOST, most)):
        free = [int(i) for i in rows[: 2 * third + 1] if int(i) not in extremes]
        extremes |= dict.fromkeys(free[:third], kind)
    drawn = [int(i) for i in by_rarity[: count + len(extremes)] if int(i) not in extremes]
    return dict.fromkeys(drawn[: count - len(extremes)], DRAWN) | extremes


def _rank_of_rarest(corpus: Corpus, rows: np.ndarray) -> np.ndarray:
    """(rows,) 0 for a row with a tail label, 1 for torso, 2 for head, 3 for none of these."""
    slices = head_torso_tail(corpus.labels.counts)
    rank = np.full(len(rows), 3)
    targets = corpus.train.targets[rows]
    for number, name in ((2, "head"), (1, "torso"), (0, "tail")):
        seen = np.concatenate([[0], np.cumsum(slices[name][targets.indices])])
        rank[seen[targets.indptr[1:]] > seen[targets.indptr[:-1]]] = number
    return rank


def _columns(corpus: Corpus, row: int) -> list[int]:
    """The labels of a row, the rarest first."""
    targets = corpus.train.targets
    columns = targets.indices[targets.indptr[row] : targets.indptr[row + 1]]
    return columns[np.argsort(corpus.labels.counts[columns], kind="stable")].tolist()


def _guesses(
    corpus: Corpus, ranking: Ranking | None, texts: pa.LargeStringArray, columns: list[list[int]]
) -> list[tuple[Guess, ...]]:
    if ranking is None:
        return [()] * len(texts)
    names = corpus.labels.names
    return [
        tuple(Guess(names[c].as_py(), c in right) for c in first.tolist() if c >= 0)
        for first, right in zip(ranking(texts, min(PREDICTED, len(names))).ids, columns, strict=True)
    ]
