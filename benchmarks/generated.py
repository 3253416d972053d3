"""Corpora that are generated: any number of labels and rows, so that growth can be measured.

Labels come in topics; a label's text has words of its topic and of its own. A row's text has some words of
its labels' texts, some that only rows of these labels have, and words that mean nothing, so both matching and
learning have something to find. Counts of labels and words follow Zipf's law, and the vocabulary grows as
Heaps' law says. A quarter of the rows has two labels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SECOND_LABEL = 0.25  # share of rows with two labels
ZIPF = 0.7  # the frequency of the label of rank r is in proportion to r ** -ZIPF
TOPIC = 50  # labels of a topic
TEST_ROWS = 2000
SHARD = 100_000  # rows that are in memory at once where a corpus is written in shards
SYLLABLES = np.array(
    [c + v for c in "bcdfghjklmnprstvwz" for v in ("a", "e", "i", "o", "u", "an", "er", "il")]
)


def words_of(ids: np.ndarray) -> pa.Array:
    """The word of each number: two to four syllables, more for larger numbers."""
    base = len(SYLLABLES)
    scattered = (ids * 7919 + 13) % base**4  # neighbours among numbers do not look alike
    digits = [np.char.add(SYLLABLES[scattered % base], SYLLABLES[scattered // base % base])]
    third, fourth = SYLLABLES[scattered // base**2 % base], SYLLABLES[scattered // base**3 % base]
    digits.append(np.where(ids % 8 < 7, third, ""))
    digits.append(np.where(ids % 8 < 3, fourth, ""))
    return pa.array(np.char.add(np.char.add(digits[0], digits[1]), digits[2]), type=pa.string())


def zipf(random: np.random.Generator, count: int, shape: tuple[int, ...], power: float) -> np.ndarray:
    """Numbers below `count`, that of rank r drawn in proportion to (r + 1) ** -power."""
    uniform = random.random(shape)
    if power == 1:
        drawn = (count + 1) ** uniform
    else:
        drawn = (uniform * ((count + 1) ** (1 - power) - 1) + 1) ** (1 / (1 - power))
    return np.minimum(drawn.astype(np.int64) - 1, count - 1)


class Generated:
    """The labels of a corpus, drawn once, and as many rows of them as are asked for."""

    def __init__(self, labels: int, random: np.random.Generator) -> None:
        vocabulary = int(40 * labels**0.7)
        topic_words = zipf(random, vocabulary, (labels // TOPIC + 1, 12), 1)
        topic = np.arange(labels) // TOPIC
        own = zipf(random, vocabulary, (labels, 3), 0.6)
        own[random.random((labels, 3)) > [1, 0.7, 0.3]] = -1
        of_topic = topic_words[topic[:, None], random.integers(0, 12, (labels, 2))]
        self.label_words = np.concatenate([of_topic, own], axis=1).astype(np.int32)  # (labels, 5)
        only_in_rows = zipf(random, vocabulary, (labels, 2), 0.6)
        self.signs = np.concatenate([self.label_words, only_in_rows], axis=1, dtype=np.int32)  # (labels, 7)
        self.by_rank = random.permutation(labels)  # frequent labels lie in all topics
        self.names = pa.array(np.char.add("L", np.arange(labels).astype(str)))
        self.words, self.vocabulary, self.labels = words_of(np.arange(vocabulary)), vocabulary, labels

    def label_table(self) -> pa.Table:
        return pa.table({"id": self.names, "text": self._texts(self.label_words)})

    def rows(self, count: int, random: np.random.Generator) -> pa.Table:
        """So many rows, drawn by `random`."""
        first = self.by_rank[zipf(random, self.labels, (count,), ZIPF)]
        second = np.minimum(first // TOPIC * TOPIC + random.integers(0, TOPIC, count), self.labels - 1)
        two = (random.random(count) < SECOND_LABEL) & (second != first)
        shown = np.concatenate([self.signs[first], np.where(two[:, None], self.signs[second], -1)], axis=1)
        shown[random.random(shown.shape) > 0.6] = -1
        words = np.concatenate([shown, zipf(random, self.vocabulary, (count, 3), 1)], axis=1)
        ends = np.concatenate([[0], np.cumsum(1 + two)])
        pairs = np.stack([first, second], axis=1)[np.stack([np.ones(count, bool), two], axis=1)]
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), self.names.take(pa.array(pairs)))
        return pa.table({"text": self._texts(words), "labels": lists})

    def _texts(self, words: np.ndarray) -> pa.Array:
        """A text for each row of `words` (rows, places), numbers of words or -1 for none."""
        held = words >= 0
        ends = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
        every = self.words.take(pa.array(words[held]))
        return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), every), " ")


def write_corpus(folder: Path, labels: int, rows: int, seed: int) -> None:
    """train, test and labels as Parquet, all rows drawn at once."""
    random = np.random.Generator(np.random.Philox(seed))
    made = Generated(labels, random)
    folder.mkdir(parents=True)
    pq.write_table(made.label_table(), folder / "labels.parquet")
    pq.write_table(made.rows(rows, random), folder / "train.parquet")
    pq.write_table(made.rows(TEST_ROWS, random), folder / "test.parquet")


def write_in_shards(folder: Path, labels: int, rows: int, seed: int) -> None:
    """The same, of other rows: a shard of them at a time is drawn and written, so that memory is flat."""
    made = Generated(labels, np.random.Generator(np.random.Philox(seed)))
    folder.mkdir(parents=True)
    pq.write_table(made.label_table(), folder / "labels.parquet")
    for name, count, split in (("train", rows, 1), ("test", TEST_ROWS, 2)):
        writer = None
        for number, start in enumerate(range(0, count, SHARD)):
            random = np.random.Generator(np.random.Philox(key=[seed, split], counter=[0, 0, number, 0]))
            table = made.rows(min(SHARD, count - start), random)
            writer = writer or pq.ParquetWriter(folder / f"{name}.parquet", table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
