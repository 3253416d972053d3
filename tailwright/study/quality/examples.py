"""New rows to read beside their sources: some with rare labels, and the least and the most similar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.labels import head_torso_tail
from tailwright.runs.run import Run
from tailwright.streams import stream
from tailwright.study.quality.sources import Pairing

DRAWN, LEAST, MOST = "drawn at random, rare labels first", "least similar", "most similar"
PREDICTED = 5


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
    if not kinds:
        return ()
    texts, names, counts = corpus.train.texts, corpus.labels.names, corpus.labels.counts
    ratio_of = dict(zip(pairing.paired().tolist(), ratios.tolist(), strict=True))
    new = [texts[int(pairing.rows[i])].as_py() for i in kinds]
    sources = [texts[int(pairing.sources[i])].as_py() if pairing.sources[i] >= 0 else None for i in kinds]
    columns = [_columns(corpus, int(pairing.rows[i])) for i in kinds]
    new_guesses = _guesses(run, new, columns)
    source_guesses = _guesses(run, [text or "" for text in sources], columns)
    shown = []
    for number, (i, kind) in enumerate(kinds.items()):
        source, before = sources[number], source_guesses[number]
        labels = tuple(ExampleLabel(names[c].as_py(), int(counts[c])) for c in columns[number])
        guesses = (() if source is None else before, new_guesses[number])
        shown.append(Example(kind, source, new[number], labels, ratio_of.get(i), *guesses))
    return tuple(shown)


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


def _guesses(run: Run | None, texts: list[str], columns: list[list[int]]) -> list[tuple[Guess, ...]]:
    if run is None:
        return [()] * len(texts)
    predictions = run.predict(texts, min(PREDICTED, len(run.labels)))
    index = run.labels.index_of_id
    return [
        tuple(Guess(name, index[label] in right) for label, name in zip(ids, names, strict=True))
        for ids, names, right in zip(predictions.ids, predictions.names, columns, strict=True)
    ]
