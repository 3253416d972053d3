"""New rows beside their sources, to be read: some of rare labels, and the least and the most similar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.labels import head_torso_tail
from tailwright.runs.run import Run
from tailwright.streams import stream
from tailwright.study.quality.sources import Pairing

DRAWN, LEAST, MOST = "drawn by chance, rare labels first", "least similar", "most similar"
PREDICTED = 5


@dataclass(frozen=True)
class ExampleLabel:
    """A label of a row, and how many original training rows have it."""

    name: str
    rows: int


@dataclass(frozen=True)
class Guess:
    """A label that the model gives, and whether the row has it."""

    name: str
    right: bool


@dataclass(frozen=True)
class Example:
    """A new row, the row it was made of (None for none), its labels, rarest first; and what a model says."""

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
    chosen = _chosen(corpus, pairing, ratios, count, seed)
    if not chosen:
        return ()
    train = corpus.train
    paired = pairing.paired()
    ratio_of = dict(zip(paired.tolist(), ratios.tolist(), strict=True))
    new = [train.texts[int(pairing.rows[i])].as_py() for i in chosen]
    sources = [
        train.texts[int(pairing.sources[i])].as_py() if pairing.sources[i] >= 0 else None for i in chosen
    ]
    columns = [_columns(corpus, int(pairing.rows[i])) for i in chosen]
    said_of_new = _guesses(run, new, columns)
    said_of_sources = _guesses(run, [text or "" for text in sources], columns)
    names, counts = corpus.labels.names, corpus.labels.counts
    return tuple(
        Example(
            kind,
            source,
            text,
            tuple(ExampleLabel(names[column].as_py(), int(counts[column])) for column in labels),
            ratio_of.get(i),
            () if source is None else before,
            after,
        )
        for (i, kind), source, text, labels, before, after in zip(
            chosen.items(), sources, new, columns, said_of_sources, said_of_new, strict=True
        )
    )


def _chosen(corpus: Corpus, pairing: Pairing, ratios: np.ndarray, count: int, seed: int) -> dict[int, str]:
    """New rows to show, and why each was taken; none is taken twice."""
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
    """(rows,) 0 for a row with a tail label, 1 for torso, 2 for head, 3 for neither."""
    parts = head_torso_tail(corpus.labels.counts)
    rank = np.full(len(rows), 3)
    targets = corpus.train.targets[rows]
    for number, name in ((2, "head"), (1, "torso"), (0, "tail")):
        carried = np.concatenate([[0], np.cumsum(parts[name][targets.indices])])
        rank[carried[targets.indptr[1:]] > carried[targets.indptr[:-1]]] = number
    return rank


def _columns(corpus: Corpus, row: int) -> list[int]:
    """The labels of a row, the rarest first."""
    targets = corpus.train.targets
    columns = targets.indices[targets.indptr[row] : targets.indptr[row + 1]]
    return [int(column) for column in columns[np.argsort(corpus.labels.counts[columns], kind="stable")]]


def _guesses(run: Run | None, texts: list[str], columns: list[list[int]]) -> list[tuple[Guess, ...]]:
    if run is None:
        return [()] * len(texts)
    said = run.predict(texts, min(PREDICTED, len(run.labels)))
    index = run.labels.index_of_id
    return [
        tuple(Guess(name, index[label] in right) for label, name in zip(ids, names, strict=True))
        for ids, names, right in zip(said.ids, said.names, columns, strict=True)
    ]
