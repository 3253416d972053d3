"""Synonyms of words, from WordNet, as a dictionary: of its lemmas, and of inflected words too.

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
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from tailwright.data.wordnet import WordNetDatabase
from tailwright.data.wordnet_files import PARTS, read_bytes

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


def exceptions_digest(exceptions: Exceptions) -> str:
    """A short digest, for the names of caches."""
    return hashlib.blake2b(
        repr(sorted((p, sorted(e.items())) for p, e in exceptions.items())).encode(), digest_size=8
    ).hexdigest()


def _names_by_part(wordnet: WordNetDatabase) -> dict[str, dict[str, list[str]]]:
    """Part of speech -> one-word lemma -> names in its synsets, commonest sense first."""
    names: dict[str, dict[str, list[str]]] = {part: {} for part in PARTS}
    for entry, word in enumerate(wordnet.entries):
        if "_" in word:
            continue
        senses = wordnet.senses_of(entry)
        if senses:
            part = wordnet.ids[senses[0]][0]
            names[part][word] = [name for synset in senses for name in wordnet.names(synset)]
    return names


def _regular_forms(lemma: str, part: str) -> Iterable[str]:
    for inflected, base in ENDINGS[part]:
        if lemma.endswith(base) and len(lemma) > len(base):
            yield lemma[: len(lemma) - len(base)] + inflected
