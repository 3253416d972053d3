"""WordNet's synonyms as one table in memory: a look-up is a dictionary access.

The synonyms of a word are the other lemma names of all its synsets, its commonest sense first. Names are as
in WordNet: with its capitals, and with `_` between the words of a name of several words (`motor_vehicle`), so
that `"_" in name` tells them apart. A name that differs from the word in capitals alone is the word itself.
WordNet 3.0 has 147,306 different lemmas once capitals are ignored; 110,390 of them have a synonym. Inflected
forms are not in the table: `cars` is not found, `car` is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np

from tailwright.data.cache import cached
from tailwright.data.wordnet import WordNet, load_wordnet
from tailwright.data.wordnet_files import files_digest, find_wordnet
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter

# Raised whenever the same files give another table, so that tables kept in the cache are made anew.
VERSION = 1


class Synonyms(Mapping[str, tuple[str, ...]]):
    """Synonyms of a word, in a fixed order. The word's capitals do not count, and a space is as good as `_`.

    >>> table = Synonyms({"car": ("auto", "motorcar", "railway_car")})
    >>> table["Car"], table.single_words["car"], table.get("cars", ())
    (('auto', 'motorcar', 'railway_car'), ('auto', 'motorcar'), ())
    """

    def __init__(self, table: dict[str, tuple[str, ...]]) -> None:
        self._table = table

    def __getitem__(self, word: str) -> tuple[str, ...]:
        return self._table[word.lower().replace(" ", "_")]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    @cached_property
    def single_words(self) -> Synonyms:
        """The same table without names of several words: what may stand in for one word of a text."""
        kept = ((word, tuple(n for n in names if "_" not in n)) for word, names in self._table.items())
        return Synonyms({word: names for word, names in kept if names})


def synonyms() -> Synonyms:
    """The table of the WordNet that is installed, from the cache folder where it has been made before.

    Load it once and keep it: loading takes a fraction of a second, a look-up a fraction of a microsecond.
    """
    folder = find_wordnet()
    return cached(
        f"synonyms-{files_digest(folder)}-v{VERSION}",
        kind="synonyms",
        build=lambda: build_synonyms(load_wordnet(folder)),
        save=_save,
        load=_load,
    )


def build_synonyms(wordnet: WordNet) -> Synonyms:
    """Collect the table from the index entries of nouns, verbs, adjectives and adverbs, in that order."""
    found: dict[str, dict[str, None]] = {}
    for entry, word in enumerate(wordnet.entries):
        names = found.setdefault(word, {})
        for synset in wordnet.senses_of(entry):
            names.update((name, None) for name in wordnet.names(synset) if name.lower() != word)
    return Synonyms({word: tuple(names) for word, names in sorted(found.items()) if names})


def _save(folder: FolderWriter, table: Synonyms) -> None:
    place = {name: i for i, name in enumerate(sorted({n for names in table.values() for n in names}))}
    folder.strings("words", list(table))
    folder.strings("names", list(place))
    folder.array("starts", np.cumsum([0, *map(len, table.values())], dtype=np.int64))
    folder.array("synonyms", np.array([place[n] for names in table.values() for n in names], dtype=np.int32))


def _load(folder: FolderReader) -> Synonyms:
    words: list[str] = folder.strings("words").to_pylist()
    names: list[str] = folder.strings("names").to_pylist()
    starts = folder.array("starts", dtype=np.int64, shape=(len(words) + 1,)).tolist()
    places = folder.array("synonyms", dtype=np.int32, shape=(starts[-1],)).tolist()
    try:
        flat = [names[place] for place in places]
    except IndexError:
        raise DamagedFolderError(
            "a name out of range", expected="a synonym table", path=folder.path
        ) from None
    spans = (tuple(flat[start:end]) for start, end in pairwise(starts))
    return Synonyms(dict(zip(words, spans, strict=True)))
