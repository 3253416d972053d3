"""`write`: a corpus as files that tailwright and other trainers can read.

jsonl, csv, tsv and parquet carry everything. The others carry what they can, and the report says what was
lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tailwright.data.corpus import Corpus
from tailwright.data.formats.delimited import write_delimited
from tailwright.data.formats.jsonl import write_jsonl
from tailwright.data.formats.parquet import write_parquet
from tailwright.data.formats.token_lines import write_fasttext, write_texts_labels
from tailwright.data.formats.xc import write_xc, write_xc_json
from tailwright.errors import InputError
from tailwright.registry import unknown
from tailwright.store.errors import errors_of_writing
from tailwright.store.placing import clear_remains, staging, swap

# Each writes a corpus into a folder and returns what it could not carry.
_WRITERS: dict[str, Callable[[Corpus, Path], tuple[str, ...]]] = {
    "jsonl": partial(write_jsonl, suffix=".jsonl"),
    "jsonl.gz": partial(write_jsonl, suffix=".jsonl.gz"),
    "jsonl.zst": partial(write_jsonl, suffix=".jsonl.zst"),
    "csv": partial(write_delimited, suffix=".csv"),
    "tsv": partial(write_delimited, suffix=".tsv"),
    "parquet": write_parquet,
    "xc": write_xc,
    "xc-json": write_xc_json,
    "texts-labels": write_texts_labels,
    "fasttext": write_fasttext,
}
FORMATS = tuple(_WRITERS)

# The files of a corpus folder; a folder that holds anything else is not replaced.
_OURS = re.compile(
    r"((train|valid|dev|test|labels)\.(jsonl|json|csv|tsv|parquet|txt)|(trn|val|tst|lbl)\.json|Y\.txt"
    r"|(trn|val|tst)_X(_Y)?\.txt|filter_labels_(train|valid|test)\.txt"
    r"|(train|valid|test)_(texts|labels)\.txt)(\.gz|\.zst)?"
)


@dataclass(frozen=True)
class WriteReport:
    """What was written, and what was lost because the format cannot carry it."""

    format: str
    files: tuple[str, ...]
    lost: tuple[str, ...]


def write(
    corpus: Corpus, path: str | Path, *, format: str = "jsonl.gz", overwrite: bool = False
) -> WriteReport:
    """Write `corpus` as the folder `path`, completely or not at all.

    An existing folder is refused unless it is empty; `overwrite` replaces it if it holds the files of a
    corpus and nothing else.

    >>> import tempfile
    >>> from tailwright.data.corpus import corpus_from_lists
    >>> corpus = corpus_from_lists(["red shoes", "wool hat"], [[1], [0]], ["hats", "shoes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(corpus, Path(folder) / "shop", format="csv").files
    ('labels.csv', 'train.csv')
    """
    check_format(format)
    for split, data in corpus.splits().items():
        if not len(data):
            raise InputError(f"{split} has no rows", expected="at least one row in each split", path=path)
    target = Path(path)
    with errors_of_writing(target), _new_folder(target, overwrite) as folder:
        lost = _WRITERS[format](corpus, folder)
        files = tuple(sorted(entry.name for entry in folder.iterdir()))
    return WriteReport(format, files, lost)


def check_format(name: str) -> None:
    """InputError, with a suggestion, unless there is a format of that name."""
    if name not in _WRITERS:
        raise InputError(unknown("format", name, list(FORMATS)))


def check_place(path: Path, overwrite: bool) -> None:
    """InputError unless `write` can put a folder there: what takes long to make is not made in vain."""
    with errors_of_writing(path):
        _occupied(Path(os.path.realpath(path)), path, overwrite)


@contextmanager
def _new_folder(shown: Path, overwrite: bool) -> Iterator[Path]:
    """A hidden sibling that takes the place of `shown` if the block ends without an exception."""
    target = Path(os.path.realpath(shown))
    new_parents = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        clear_remains(target)
        replaced = _occupied(target, shown, overwrite)
        with staging(target) as staged:
            yield staged
            if replaced:
                swap(staged, target)
            else:
                staged.rename(target)
    except BaseException:
        for parent in new_parents:
            with suppress(OSError):
                parent.rmdir()
        raise


def _occupied(target: Path, shown: Path, overwrite: bool) -> bool:
    """Whether there is a corpus to be replaced; `InputError` if the place is not free."""
    if not target.exists():
        return False
    if not target.is_dir():
        raise InputError("is a file", expected="a new folder", path=shown)
    names = sorted(entry.name for entry in target.iterdir())
    if names and not overwrite:
        raise InputError("exists already and is not empty", expected="a new folder", path=shown)
    foreign = next((name for name in names if not _OURS.fullmatch(name)), None)
    if foreign is not None:
        problem = f"holds {foreign}, which is no file of a corpus, so it is not overwritten"
        raise InputError(problem, expected="a new folder", path=shown)
    return bool(names)
