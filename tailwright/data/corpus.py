"""`LabelSpace` and `Corpus`: what the label columns mean, the splits over them, and both in a safe folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from tailwright.data.dataset import PAIR_COLUMNS, Dataset, Origin, arrow_strings, feed_strings, not_blank
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import quoted
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter

_LABEL_COLUMNS = ("ids", "names", "texts")
# The methods that made rows, for each split.
_METHODS = TypeAdapter(dict[Literal["train", "valid", "test"], list[str]])


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """The labels, in column order; `counts` are the original training rows that carry a label.

    >>> labels = LabelSpace(["A7", "B2"], names=["shoes", "hats"])
    >>> len(labels), labels.index_of_id["B2"], labels.texts.to_pylist()
    (2, 1, ['shoes', 'hats'])
    """

    ids: pa.LargeStringArray  # the user's own id of a label, as text, unique
    names: pa.LargeStringArray = field(default=None)  # shown to people; files may refer to a label by it
    texts: pa.LargeStringArray = field(default=None)  # what a model reads of a label; may be empty
    counts: np.ndarray = field(default=None)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        ids = arrow_strings(self.ids)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "names", ids if self.names is None else arrow_strings(self.names))
        object.__setattr__(self, "texts", self.names if self.texts is None else arrow_strings(self.texts))
        counts = np.array(np.zeros(len(ids)) if self.counts is None else self.counts, dtype=np.int64)
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)
        for name in ("names", "texts", "counts"):
            if len(getattr(self, name)) != len(ids):
                raise ValueError(f"{name} has {len(getattr(self, name))} entries, expected {len(ids)}")
        if len(set(ids.to_pylist())) != len(ids):  # `unique` of Arrow takes long to import
            raise ValueError("label ids are not unique")

    def __len__(self) -> int:
        return len(self.ids)

    @staticmethod
    def numbered(labels: int) -> LabelSpace:
        """Labels 0, 1, 2, ... that have no text."""
        ids = pa.array([str(i) for i in range(labels)], type=pa.large_string())
        return LabelSpace(ids, ids, pa.array([""] * labels, type=pa.large_string()))

    @cached_property
    def index_of_id(self) -> dict[str, int]:
        return {label: column for column, label in enumerate(self.ids.to_pylist())}

    @cached_property
    def has_text(self) -> np.ndarray:
        """(labels,) bool: whether a label has a text that is not blank."""
        return not_blank(self.texts)

    def behind(self, labels: int) -> LabelSpace:
        """The labels behind the first `labels`."""
        columns = {name: getattr(self, name).slice(labels) for name in _LABEL_COLUMNS}
        return LabelSpace(**columns, counts=self.counts[labels:])

    def with_counts(self, counts: np.ndarray) -> LabelSpace:
        """The same labels with other counts."""
        return replace(self, counts=counts)

    def same_as(self, other: LabelSpace) -> bool:
        """Whether every column is equal."""
        same_strings = all(getattr(self, name).equals(getattr(other, name)) for name in _LABEL_COLUMNS)
        return same_strings and np.array_equal(self.counts, other.counts)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Training, validation and test rows over one label space. Label counts are taken when it is made.

    `source` is where it was read from, empty if it was not; `notes` are what reading took, left and mended, a
    line each; `fraction` is the share of the training rows that `sample` left. They say how the corpus came
    about and are no part of the data.

    >>> corpus = corpus_from_lists(["red shoes", "wool hat", "straw hat"], [[1], [0], [0]], ["hats", "shoes"])
    >>> corpus.labels.counts.tolist(), list(corpus.splits())
    ([2, 1], ['train'])
    >>> held_out = corpus.split(valid=0.4)
    >>> len(held_out.train), len(held_out.valid)
    (1, 2)
    """

    train: Dataset
    labels: LabelSpace
    valid: Dataset | None = None
    test: Dataset | None = None
    source: str = ""
    fraction: float = 1.0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, split in self.splits().items():
            if split.labels != len(self.labels):
                raise ValueError(f"{name} has {split.labels} labels, expected {len(self.labels)}")
        object.__setattr__(self, "labels", self.labels.with_counts(label_counts(self.train)))

    @staticmethod
    def of_splits(labels: LabelSpace, splits: Mapping[str, Dataset]) -> Corpus:
        """The corpus of these splits by name, of which `train` must be there."""
        return Corpus(splits["train"], labels, splits.get("valid"), splits.get("test"))

    def splits(self) -> dict[str, Dataset]:
        """The splits there are, by name."""
        named = {"train": self.train, "valid": self.valid, "test": self.test}
        return {name: split for name, split in named.items() if split is not None}

    def with_train(self, train: Dataset) -> Corpus:
        """The same corpus over other training rows; label counts follow its original rows."""
        return replace(self, train=train)

    def weighed(self) -> Corpus:
        """The same corpus without training and validation rows of weight 0: all that may be learnt from.

        Label counts are those of the rows that are left. Test rows stay, for evaluation has no weights.
        """
        train, valid = self.train.weighed(), None if self.valid is None else self.valid.weighed()
        same = train is self.train and valid is self.valid
        return self if same else replace(self, train=train, valid=valid)

    def sample(self, fraction: float, seed: int = 0) -> Corpus:
        """A nested random share of the training rows; validation and test stay whole."""
        return replace(self, train=self.train.sample(fraction, seed), fraction=self.fraction * fraction)

    def split(self, valid: float = 0.1, seed: int = 0) -> Corpus:
        """The same corpus with validation rows held out of training, unless it has some already."""
        if self.valid is not None:
            return self
        train, held_out = self.train.split(valid, seed)
        return replace(self, train=train, valid=held_out)

    def digest(self) -> str:
        """A fingerprint of every column of every split and of the labels: equal for equal corpora."""
        digest = hashlib.blake2b(digest_size=16)
        for column in _LABEL_COLUMNS:
            feed_strings(digest, getattr(self.labels, column))
        for name, split in self.splits().items():
            digest.update(name.encode())
            split.feed(digest)
        return digest.hexdigest()

    def same_as(self, other: Corpus) -> bool:
        """Whether every column of every split and of the labels is equal, bit for bit."""
        mine, theirs = self.splits(), other.splits()
        return (
            mine.keys() == theirs.keys()
            and all(mine[name].same_as(theirs[name]) for name in mine)
            and self.labels.same_as(other.labels)
        )


def label_counts(train: Dataset) -> np.ndarray:
    """Original training rows of each label, (labels,): augmented rows never count."""
    return np.bincount(train.originals().targets.indices, minlength=train.labels)


def corpus_from_lists(
    texts: Sequence[str], labels: Sequence[Sequence[int]], label_texts: Sequence[str]
) -> Corpus:
    """A corpus of training rows alone, for examples and tests.

    >>> corpus = corpus_from_lists(["red shoes"], [[1]], ["hats", "shoes"])
    >>> corpus.labels.counts.tolist()
    [0, 1]
    """
    ids = [str(i) for i in range(len(label_texts))]
    return Corpus(
        Dataset(arrow_strings(texts), pairs_from_lists(labels, len(label_texts))),
        LabelSpace(arrow_strings(ids), arrow_strings(label_texts)),
    )


def save_corpus(folder: FolderWriter, corpus: Corpus) -> None:
    splits = corpus.splits()
    folder.json("methods.json", {name: list(split.origin.methods) for name, split in splits.items()})
    save_labels(folder.sub("labels"), corpus.labels)
    for name, split in splits.items():
        inner = folder.sub(name)
        inner.strings("texts", split.texts)
        inner.array("weights", split.weights)
        if split.label_weights is not None:
            inner.array("label_weights", split.label_weights)
        if split.ids is not None:
            inner.strings("ids", split.ids)
        inner.array("origin_rows", split.origin.rows)
        inner.array("origin_codes", split.origin.codes)
        for column in PAIR_COLUMNS:
            inner.csr(column, getattr(split, column))


def save_labels(folder: FolderWriter, labels: LabelSpace) -> None:
    for column in _LABEL_COLUMNS:
        folder.strings(column, getattr(labels, column))


def load_labels(folder: FolderReader, counts: np.ndarray | None = None) -> LabelSpace:
    """What `save_labels` wrote, with these counts; ValueError if the columns do not fit together."""
    ids, names, texts = (folder.strings(column) for column in _LABEL_COLUMNS)
    return LabelSpace(ids, names, texts, counts)  # type: ignore[arg-type]


def load_corpus(folder: FolderReader) -> Corpus:
    """What `save_corpus` wrote; `DamagedFolderError` if the files do not fit together."""
    try:
        content = folder.json("methods.json")
        try:
            methods = _METHODS.validate_python(content)
        except ValidationError:
            raise ValueError(f"methods {quoted(content)}") from None
        if "train" not in methods:
            raise ValueError("no training rows")
        splits = {str(name): _split(folder.sub(name), tuple(made)) for name, made in methods.items()}
        return Corpus.of_splits(load_labels(folder.sub("labels")), splits)
    except ValueError as problem:
        raise DamagedFolderError(str(problem), expected="a corpus", path=folder.path) from problem


def _split(folder: FolderReader, methods: tuple[str, ...]) -> Dataset:
    texts = folder.strings("texts")
    shape = (len(texts),)
    origin = Origin(
        folder.array("origin_rows", dtype=np.int64, shape=shape),
        folder.array("origin_codes", dtype=np.int16, shape=shape),
        methods,
    )
    label_weights = None
    if folder.has("label_weights.npy"):
        label_weights = folder.array("label_weights", dtype=np.float32, shape=(None,))
    return Dataset(
        texts,
        weights=folder.array("weights", dtype=np.float32, shape=shape),
        origin=origin,
        label_weights=label_weights,
        ids=folder.strings("ids") if folder.has("ids.offsets.npy") else None,
        **{name: folder.csr(name) for name in PAIR_COLUMNS},
    )
