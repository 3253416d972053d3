"""A corpus in a safe folder, lossless: every column of every split, and the labels.

Users' own files are for the readers and writers in `formats/`; this is how tailwright stores a corpus for
itself.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import TypeAdapter, ValidationError

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import PAIR_COLUMNS, Dataset, Origin
from tailwright.errors import quoted
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter

_LABEL_COLUMNS = ("ids", "names", "texts")
_METHODS = TypeAdapter(dict[Literal["train", "valid", "test"], list[str]])


def save_corpus(folder: FolderWriter, corpus: Corpus) -> None:
    """Write `corpus` into `folder`."""
    splits = corpus.splits()
    folder.json("methods.json", {name: list(split.origin.methods) for name, split in splits.items()})
    save_labels(folder.sub("labels"), corpus.labels)
    for name, split in splits.items():
        inner = folder.sub(name)
        inner.strings("texts", split.texts)
        inner.array("weights", split.weights)
        inner.array("origin_rows", split.origin.rows)
        inner.array("origin_codes", split.origin.codes)
        for column in PAIR_COLUMNS:
            inner.csr(column, getattr(split, column))


def save_labels(folder: FolderWriter, labels: LabelSpace) -> None:
    """Write ids, names and texts."""
    for column in _LABEL_COLUMNS:
        folder.strings(column, getattr(labels, column))


def load_labels(folder: FolderReader) -> LabelSpace:
    """What `save_labels` wrote; ValueError if the columns do not fit together."""
    return LabelSpace(*(folder.strings(column) for column in _LABEL_COLUMNS))


def load_corpus(folder: FolderReader) -> Corpus:
    """What `save_corpus` wrote; `DamagedFolderError` if the files do not fit together."""
    try:
        methods = _methods(folder.json("methods.json"))
        splits = {name: _split(folder.sub(name), methods[name]) for name in methods}
        return Corpus.of_splits(load_labels(folder.sub("labels")), splits)
    except ValueError as problem:
        raise DamagedFolderError(str(problem), expected="a corpus", path=folder.path) from problem


def _methods(content: object) -> dict[str, tuple[str, ...]]:
    """The methods that made rows, for each split."""
    try:
        methods = _METHODS.validate_python(content)
    except ValidationError:
        raise ValueError(f"methods {quoted(content)}") from None
    if "train" not in methods:
        raise ValueError("no training rows")
    return {split: tuple(names) for split, names in methods.items()}


def _split(folder: FolderReader, methods: tuple[str, ...]) -> Dataset:
    texts = folder.strings("texts")
    shape = (len(texts),)
    origin = Origin(
        folder.array("origin_rows", dtype=np.int64, shape=shape),
        folder.array("origin_codes", dtype=np.int16, shape=shape),
        methods,
    )
    pairs = {column: folder.csr(column) for column in PAIR_COLUMNS}
    return Dataset(
        texts, weights=folder.array("weights", dtype=np.float32, shape=shape), origin=origin, **pairs
    )
