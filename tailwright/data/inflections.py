"""Synonyms of inflected words: `cars` has those of `car`, and `car` itself.

Which base forms a word may have is as WordNet's own morphology has it: for nouns, verbs and adjectives a few
endings that may be exchanged, and lists of exceptions (`noun.exc` and so on) beside the database files. The
synonyms stay base forms. Left out: endings exchanged more than once, and names of several words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tailwright.data.synonyms import Synonyms
from tailwright.data.wordnet import WordNet
from tailwright.data.wordnet_files import PARTS, read_bytes

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


def inflected_synonyms(wordnet: WordNet, exceptions: Exceptions) -> Synonyms:
    """Names of all synsets of all base forms of a word, by part of speech, without the word itself.

    The word itself is a base form if WordNet has it. `exceptions` are the base forms of a word by part of
    speech; for such a word the exchange of endings is not tried.
    """
    found: dict[str, dict[str, None]] = {}
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
            into = found.setdefault(form, {})
            for lemma in lemmas:
                into.update((name, None) for name in names[lemma])
    tidy = ((word, tuple(n for n in names if n.lower() != word)) for word, names in sorted(found.items()))
    return Synonyms({word: names for word, names in tidy if names})


def read_exceptions(folder: Path) -> Exceptions:
    """The lists of exceptions beside WordNet's database files; one that is not there is empty."""
    read: dict[str, dict[str, tuple[str, ...]]] = {}
    for letter, part in PARTS.items():
        path = folder / f"{part}.exc"
        lines = read_bytes(path).decode(errors="replace").splitlines() if path.is_file() else []
        read[letter] = {form: tuple(bases) for form, *bases in map(str.split, filter(str.strip, lines))}
    return read


def exceptions_digest(exceptions: Exceptions) -> str:
    """A short digest: what is made with them is kept under it."""
    return hashlib.blake2b(
        repr(sorted((p, sorted(e.items())) for p, e in exceptions.items())).encode(), digest_size=8
    ).hexdigest()


def _names_by_part(wordnet: WordNet) -> dict[str, dict[str, list[str]]]:
    """Part of speech -> lemma of one word -> names of its synsets there, commonest sense first."""
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
