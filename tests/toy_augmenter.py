"""A small augmenter at the rows door: what the docs show and the checks are tried on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tailwright.augmentation import AugmenterCard, RowAugmenter
from tailwright.data import Corpus, Dataset, Origin
from tailwright.data.dataset import arrow_strings
from tailwright.streams import stream


class SwapTwoWords(RowAugmenter):
    """One new row a row: the same words, two of them exchanged."""

    card = AugmenterCard(
        name="swap-two-words",
        summary="exchanges two words of every text",
        door="rows",
        keeps_targets=True,
    )

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        train = corpus.train
        with ThreadPoolExecutor(workers) as pool:
            texts = list(
                pool.map(
                    lambda text, row: self.changed(text, seed, row),
                    train.texts.to_pylist(),
                    train.origin.rows,
                )
            )
        return Dataset(
            arrow_strings(texts),
            train.targets,
            train.weights,
            train.ignored,
            train.excluded,
            Origin.made_by(self.card.name, train.origin.rows),
        )

    def changed(self, text: str, seed: int, row: int) -> str:
        words = text.split()
        if len(words) < 2:
            return text
        a, b = stream(seed, self.card.name, int(row)).choice(len(words), size=2, replace=False)
        words[a], words[b] = words[b], words[a]
        return " ".join(words)
