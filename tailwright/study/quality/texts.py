"""Measures of new texts: how varied they are, and how much they repeat themselves and their sources.

Words are those of `tailwright.data.text.words`: lower-cased, without punctuation. Shares are in percent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.dataset import Dataset
from tailwright.data.text.words import tokenise
from tailwright.kernels.similarity import distinct_in_rows, matched_words, number_ngrams, shared_ngrams
from tailwright.streams import stream
from tailwright.study.quality.bleu import ORDERS, bleu, self_bleu
from tailwright.study.quality.sources import Pairing

DISTINCT_ORDERS = (1, 2, 3)
LOOP_ORDER = 3
SELF_BLEU_TEXTS = 500
NEW, SOURCES = "new", "sources"


@dataclass(frozen=True)
class Spread:
    """The mean, and the 10th, 50th and 90th percentile."""

    mean: float
    p10: float
    p50: float
    p90: float

    @staticmethod
    def of(values: np.ndarray) -> Spread:
        """The spread of at least one value."""
        return Spread(float(np.mean(values)), *(float(v) for v in np.quantile(values, (0.1, 0.5, 0.9))))


@dataclass(frozen=True)
class TextFigures:
    """Figures of the new texts or of the sources; an n for which all texts are too short is left out."""

    texts: int  # a source of several new rows counts once
    words: Spread  # words a text
    distinct: dict[int, float]  # n to the share of different n-grams, of equally many on either side
    self_bleu: float | None  # the mean BLEU of a text against the others, in a sample
    repeated: dict[int, float]  # n to the share of n-grams that occurred earlier in the same text
    looping: float  # texts in which half of the 3-grams or more occurred earlier


@dataclass(frozen=True)
class PairFigures:
    """New rows against their sources."""

    pairs: int  # new rows that have a source
    copied: dict[int, float]  # n to the share of the new rows' n-grams that their source has too
    bleu: float  # of all new rows, each against its source
    similarity: Spread  # `difflib`'s ratio of words, source and new row, from 0 to 1
    same_words: float  # share of pairs with the same words in the same order


@dataclass(frozen=True, eq=False)
class Measured:
    """The figures of one method, and the similarity of each pair, in the order of `Pairing.paired()`."""

    new: TextFigures
    sources: TextFigures | None
    pairs: PairFigures | None
    ratios: np.ndarray  # (pairs,) float64


@dataclass(frozen=True, eq=False)
class _Texts:
    """Words of the new texts, then of their sources, each once."""

    words: np.ndarray  # (positions,) int32
    offsets: np.ndarray  # (texts + 1,) int64
    new: int  # how many texts are new; they come first
    pair_new: np.ndarray  # (pairs,) int64: texts
    pair_source: np.ndarray  # (pairs,) int64: texts

    @property
    def lengths(self) -> np.ndarray:
        """(texts,) words of each."""
        return np.diff(self.offsets)

    def members(self, side: str) -> slice:
        return slice(0, self.new) if side == NEW else slice(self.new, None)

    def totals(self, n: int) -> np.ndarray:
        """(texts,) n-grams of each."""
        return np.maximum(self.lengths - n + 1, 0)

    def positions(self, texts: np.ndarray, n: int) -> np.ndarray:
        """The positions of these texts' n-grams, text by text."""
        totals = self.totals(n)[texts]
        starts = np.repeat(self.offsets[texts] - (np.cumsum(totals) - totals), totals)
        return starts + np.arange(len(starts))


@dataclass(frozen=True, eq=False)
class _Order:
    """What the n-grams of one n say: shares by side, and counts of each pair."""

    distinct: dict[str, float]
    repeated: dict[str, float]
    looping: dict[str, float]
    total: int  # n-grams of the new texts of all pairs
    copied: np.ndarray  # (pairs,) int64
    clipped: np.ndarray  # (pairs,) int64


def measure(train: Dataset, pairing: Pairing, seed: int = 0) -> Measured:
    """The figures of one method's new rows; `seed` draws the samples that are compared."""
    texts = _read(train, pairing)
    sample = _equally_many(texts, stream(seed, f"quality-{pairing.method}"))
    orders: dict[int, _Order] = {}
    ids, different = texts.words, int(texts.words.max(initial=-1)) + 1
    for n in ORDERS:
        if n > 1:
            ids, different = number_ngrams(ids, texts.words, texts.offsets, n)
        orders[n] = _of_order(texts, ids, different, n, sample)
    new = _figures(texts, NEW, orders, sample)
    if not len(texts.pair_new):
        return Measured(new, None, None, np.zeros(0))
    ratios = _ratios(texts, orders[1].clipped)
    matches = [int(order.clipped.sum()) for order in orders.values()]
    totals = [order.total for order in orders.values()]
    pairs = PairFigures(
        pairs=len(ratios),
        copied={n: float(100 * o.copied.sum() / o.total) for n, o in orders.items() if o.total},
        bleu=bleu(matches, totals, totals[0], int(texts.lengths[texts.pair_source].sum())),
        similarity=Spread.of(ratios),
        same_words=_percent(ratios == 1),
    )
    return Measured(new, _figures(texts, SOURCES, orders, sample), pairs, ratios)


def _of_order(
    texts: _Texts, ids: np.ndarray, different: int, n: int, sample: dict[str, np.ndarray]
) -> _Order:
    """`ids` are the n-grams at all positions, `different` is the number of distinct ones."""
    held, distinct = texts.totals(n), np.empty(len(texts.lengths), dtype=np.int64)
    distinct_in_rows(ids, texts.offsets, n, distinct)
    loops = (held > 0) & (2 * distinct <= held)
    copied, clipped = np.empty((2, len(texts.pair_new)), dtype=np.int64)
    shared_ngrams(ids, texts.offsets, n, texts.pair_new, texts.pair_source, copied, clipped)
    members = {side: texts.members(side) for side in (NEW, SOURCES)}
    return _Order(
        distinct=_distinct(texts, ids, n, different, sample),
        repeated={
            side: float(100 * (1 - distinct[those].sum() / held[those].sum()))
            for side, those in members.items()
            if held[those].any()
        },
        looping={side: _percent(loops[those]) for side, those in members.items()},
        total=int(held[texts.pair_new].sum()),
        copied=copied,
        clipped=clipped,
    )


def _figures(
    texts: _Texts, side: str, orders: dict[int, _Order], sample: dict[str, np.ndarray]
) -> TextFigures:
    members = texts.members(side)
    lengths = texts.lengths[members]
    compared = [
        texts.words[texts.offsets[text] : texts.offsets[text + 1]].tolist()
        for text in sample[side][:SELF_BLEU_TEXTS]
    ]
    return TextFigures(
        texts=len(lengths),
        words=Spread.of(lengths),
        distinct={n: orders[n].distinct[side] for n in DISTINCT_ORDERS if side in orders[n].distinct},
        self_bleu=self_bleu(compared),
        repeated={n: order.repeated[side] for n, order in orders.items() if side in order.repeated},
        looping=orders[LOOP_ORDER].looping[side],
    )


def equal_to_training(train: Dataset, pairing: Pairing) -> tuple[float, float]:
    """Percentages of new rows with the exact text of (an original row, an earlier new row)."""
    texts = train.texts.take(pa.array(pairing.rows))
    known = pc.is_in(texts, value_set=train.originals().texts)
    repeats = len(texts) - pc.count_distinct(texts).as_py()
    return _percent(known.to_numpy(zero_copy_only=False)), 100 * repeats / len(texts)


def _read(train: Dataset, pairing: Pairing) -> _Texts:
    paired = pairing.paired()
    sources, at = np.unique(pairing.sources[paired], return_inverse=True)
    tokens = tokenise(train.texts.take(pa.array(np.concatenate([pairing.rows, sources]))))
    return _Texts(
        np.require(tokens.ids, np.int32, ["C", "W"]),
        np.require(tokens.offsets, np.int64, ["C", "W"]),
        len(pairing.rows),
        paired,
        len(pairing.rows) + at.astype(np.int64),
    )


def _equally_many(texts: _Texts, draw: np.random.Generator) -> dict[str, np.ndarray]:
    """Texts of both sides to compare: each source once, with one of its new texts, in a drawn order.

    Variety falls as a corpus grows, so it is measured on equally many. Without sources these are all new
    texts.
    """
    if not len(texts.pair_new):
        return {NEW: draw.permutation(texts.new)}
    order = draw.permutation(len(texts.pair_new))
    first = order[np.sort(np.unique(texts.pair_source[order], return_index=True)[1])]
    return {NEW: texts.pair_new[first], SOURCES: texts.pair_source[first]}


def _distinct(
    texts: _Texts, ids: np.ndarray, n: int, different: int, sample: dict[str, np.ndarray]
) -> dict[str, float]:
    """The share of distinct n-grams on each side, among equally many of both sides."""
    ngrams = {side: ids[texts.positions(members, n)] for side, members in sample.items()}
    size = min(len(held) for held in ngrams.values())
    if not size:
        return {}
    shares = {}
    for side, held in ngrams.items():
        met = np.zeros(different, dtype=bool)
        met[held[:size]] = True
        shares[side] = float(100 * met.sum() / size)
    return shares


def _ratios(texts: _Texts, shared: np.ndarray) -> np.ndarray:
    """(pairs,) difflib's ratio, from the number of words that both sides share; two empty texts are equal."""
    matched = np.empty(len(texts.pair_new), dtype=np.int64)
    matched_words(texts.words, texts.offsets, texts.pair_source, texts.pair_new, shared, matched)
    words = texts.lengths[texts.pair_source] + texts.lengths[texts.pair_new]
    return np.where(words > 0, 2.0 * matched / np.maximum(words, 1), 1.0)


def _percent(holds: np.ndarray) -> float:
    return float(100 * np.mean(holds)) if len(holds) else 0.0
