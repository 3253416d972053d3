"""Synonyms of words, from WordNet: as a dictionary, and as arrays for the kernels that edit texts.

The synonyms of a word are the other lemma names in all its synsets, its commonest sense first. Names are
spelled as in WordNet: with its capitals, and with `_` between the words of a name such as `motor_vehicle`. A
name that differs from the word only in capitals is the word itself. WordNet 3.0 has 147,306 different lemmas,
ignoring capitals; 110,390 of them have a synonym.

Inflected words have the synonyms of their base forms, and these: `cars` has those of `car`, and `car` itself.
Base forms follow WordNet's own morphology: a few endings of nouns, verbs and adjectives that may be
exchanged, and lists of exceptions (`noun.exc` and so on) beside the database files. The synonyms themselves
stay base forms. Left out: endings exchanged more than once, and names of several words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tailwright.data.cache import cached
from tailwright.data.dataset import arrow_strings, frozen, text_buffers
from tailwright.data.text.words import WordTable, word_spans
from tailwright.data.wordnet import (
    PARTS,
    WordNetDatabase,
    files_digest,
    find_wordnet,
    load_wordnet,
    read_bytes,
)
from tailwright.kernels.edits import Names
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter

# To be raised whenever the same files give other arrays, so that caches are made again.
VERSION = 1

_NOT_A_TO_Z = re.compile("[^a-z ]")

Synonyms: TypeAlias = dict[str, tuple[str, ...]]  # lower-cased word -> its synonyms

# (ending of the inflected word, ending of its base form), by part of speech.
ENDINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "n": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch")),
        *(("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "v": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", "")),
        *(("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}
Exceptions = Mapping[str, Mapping[str, tuple[str, ...]]]


def build_synonyms(wordnet: WordNetDatabase) -> Synonyms:
    """The synonyms of all lemmas that have any, from the entries of nouns, verbs, adjectives, adverbs."""
    names_of: dict[str, dict[str, None]] = {}
    for entry, word in enumerate(wordnet.entries):
        names = names_of.setdefault(word, {})
        for synset in wordnet.senses_of(entry):
            names.update((name, None) for name in wordnet.names(synset))
    return _without_themselves(names_of)


def inflected_synonyms(wordnet: WordNetDatabase, exceptions: Exceptions) -> Synonyms:
    """For each word, the names in all synsets of all its base forms, without the word itself.

    A word that WordNet has is a base form of itself. `exceptions` give the base forms of irregular words, by
    part of speech; their endings are not exchanged.
    """
    names_of: dict[str, dict[str, None]] = {}
    for part, names in _names_by_part(wordnet).items():
        bases: dict[str, dict[str, None]] = {lemma: {lemma: None} for lemma in names}
        irregular = exceptions.get(part, {})
        for form, its_bases in irregular.items():
            bases.setdefault(form, {}).update((base, None) for base in its_bases if base in names)
        for lemma in names:
            for form in _regular_forms(lemma, part):
                if form not in irregular:
                    bases.setdefault(form, {})[lemma] = None
        for form, lemmas in bases.items():
            for lemma in lemmas:
                names_of.setdefault(form, {}).update((name, None) for name in names[lemma])
    return _without_themselves(names_of)


def _without_themselves(names_of: Mapping[str, Iterable[str]]) -> Synonyms:
    """The sorted words that have a name other than themselves, with these names."""
    tidy = ((word, tuple(n for n in names if n.lower() != word)) for word, names in sorted(names_of.items()))
    return {word: names for word, names in tidy if names}


def read_exceptions(folder: Path) -> Exceptions:
    """The lists of exceptions beside WordNet's database files; a missing list is empty."""
    read: dict[str, dict[str, tuple[str, ...]]] = {}
    for letter, part in PARTS.items():
        path = folder / f"{part}.exc"
        lines = read_bytes(path).decode(errors="replace").splitlines() if path.is_file() else []
        read[letter] = {form: tuple(bases) for form, *bases in map(str.split, filter(str.strip, lines))}
    return read


def _names_by_part(wordnet: WordNetDatabase) -> dict[str, dict[str, list[str]]]:
    """Part of speech -> one-word lemma -> names in its synsets, commonest sense first."""
    names: dict[str, dict[str, list[str]]] = {part: {} for part in PARTS}
    for entry, word in enumerate(wordnet.entries):
        senses = wordnet.senses_of(entry)
        if senses and "_" not in word:
            part = wordnet.ids[senses[0]][0]
            names[part][word] = [name for synset in senses for name in wordnet.names(synset)]
    return names


def _regular_forms(lemma: str, part: str) -> Iterable[str]:
    for inflected, base in ENDINGS[part]:
        if lemma.endswith(base) and len(lemma) > len(base):
            yield lemma[: len(lemma) - len(base)] + inflected


def one_word_names(word: str, names: Iterable[str]) -> list[str]:
    """The names that are a single word in a text: not `motor_vehicle`, not `U.S.`."""
    return [name for name in names if "_" not in name and len(word_spans(name)) == 1]


def plain_names(word: str, names: Iterable[str]) -> list[str]:
    """The names in lower-case letters a-z and spaces, each once, without the word itself."""
    plain = (_NOT_A_TO_Z.sub("", re.sub("[_-]", " ", name.lower())) for name in names)
    return [name for name in dict.fromkeys(plain) if name and name != word]


NAMES_OF: Mapping[str, Callable[[str, Iterable[str]], list[str]]] = {
    "textattack": one_word_names,
    "original": plain_names,
}


def synonym_arrays(table: Mapping[str, Iterable[str]], variant: str) -> Names:
    """The synonyms of single words that the variant accepts; alphabetic ones come first.

    >>> arrays = synonym_arrays({"car": ("auto", "C-4", "motor_car"), "motor_car": ("car",)}, "textattack")
    >>> arrays.starts.tolist(), arrays.alphabetic.tolist(), arrays.name_content.tobytes()
    ([0, 2], [1], b'C-4auto')
    """
    names_of = NAMES_OF[variant]
    accepted = {}
    for word, names in table.items():
        if "_" not in word and (kept := names_of(word, names)):
            accepted[word] = sorted(kept, key=lambda name: not name.isalpha())  # stable
    place = {name: i for i, name in enumerate(sorted({n for names in accepted.values() for n in names}))}
    counts = np.fromiter(map(len, accepted.values()), np.int64, len(accepted))
    alphabetic = (sum(name.isalpha() for name in names) for names in accepted.values())
    return _names(
        list(accepted),
        list(place),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([place[n] for names in accepted.values() for n in names], dtype=np.int32),
        np.fromiter(alphabetic, np.int64, len(accepted)),
    )


def wordnet_arrays(variant: str, inflections: bool) -> Names:
    """`synonym_arrays` of the installed WordNet, read from the cache folder once per process."""
    return _arrays_of(find_wordnet(), variant, inflections)


def wordnet_digest(inflections: bool) -> str:
    """A digest of the files that `wordnet_arrays` reads."""
    return _digest_of(find_wordnet(), inflections)


@cache
def _arrays_of(folder: Path, variant: str, inflections: bool) -> Names:
    def build() -> Names:
        wordnet = load_wordnet(folder)
        if inflections:
            return synonym_arrays(inflected_synonyms(wordnet, read_exceptions(folder)), variant)
        return synonym_arrays(build_synonyms(wordnet), variant)

    return cached(
        f"synonym-arrays-{_digest_of(folder, inflections)}-{variant}-v{VERSION}",
        kind="synonym-arrays",
        build=build,
        save=_save,
        load=_load,
    )


@cache
def _digest_of(folder: Path, inflections: bool) -> str:
    if not inflections:
        return f"{files_digest(folder)}-lemmas"
    listed = sorted((part, sorted(forms.items())) for part, forms in read_exceptions(folder).items())
    exceptions = hashlib.blake2b(repr(listed).encode(), digest_size=8).hexdigest()
    return f"{files_digest(folder)}-inflected-{exceptions}"


@cache
def no_synonyms() -> Names:
    """For operations that need no synonyms, so that they need no WordNet."""
    return synonym_arrays({}, "textattack")


def _names(
    words: list[str], names: list[str], starts: np.ndarray, synonyms: np.ndarray, alphabetic: np.ndarray
) -> Names:
    table = WordTable(words)
    bounds, content = text_buffers(arrow_strings(names))
    return Names(
        slots=frozen(table.slots),
        keys=frozen(table.keys),
        bounds=frozen(table.bounds),
        content=frozen(table.content),
        starts=frozen(starts),
        names=frozen(synonyms),
        alphabetic=frozen(alphabetic),
        name_bounds=bounds,
        name_content=content,
        longest=int(np.diff(bounds).max(initial=0)),
    )


def _save(folder: FolderWriter, arrays: Names) -> None:
    folder.strings("words", _strings(arrays.bounds, arrays.content))
    folder.strings("names", _strings(arrays.name_bounds, arrays.name_content))
    folder.array("starts", arrays.starts)
    folder.array("synonyms", arrays.names)
    folder.array("alphabetic", arrays.alphabetic)


def _strings(bounds: np.ndarray, content: np.ndarray) -> list[str]:
    whole = content.tobytes()
    return [whole[start:end].decode() for start, end in pairwise(bounds)]


def _load(folder: FolderReader) -> Names:
    words, names = folder.strings("words").to_pylist(), folder.strings("names").to_pylist()
    starts = folder.array("starts", dtype=np.int64, shape=(len(words) + 1,))
    counts = np.diff(starts)
    if starts[0] != 0 or (counts < 0).any():
        raise DamagedFolderError("starts that do not ascend", expected="synonym arrays", path=folder.path)
    synonyms = folder.array("synonyms", dtype=np.int32, shape=(int(starts[-1]),))
    alphabetic = folder.array("alphabetic", dtype=np.int64, shape=(len(words),))
    if ((synonyms < 0) | (synonyms >= len(names))).any() or ((alphabetic < 0) | (alphabetic > counts)).any():
        raise DamagedFolderError("a number out of range", expected="synonym arrays", path=folder.path)
    return _names(words, names, starts, synonyms, alphabetic)
