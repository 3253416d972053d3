"""`Dataset`: the one currency. Immutable columns over rows; every operation keeps every column."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.pairs import checked, empty_pairs, row_ids, same_pairs, stack_pairs
from tailwright.streams import stream

PAIR_COLUMNS = ("targets", "ignored", "excluded")


@dataclass(frozen=True, eq=False)
class Origin:
    """Where each row came from: the row number in the file first read, and the method that made it.

    `methods[codes[i]]` is the method of row i; the empty name means an original row.
    """

    rows: np.ndarray  # (rows,) int64
    codes: np.ndarray  # (rows,) int16
    methods: tuple[str, ...] = ("",)

    @staticmethod
    def originals(rows: int) -> Origin:
        """Rows 0, 1, 2, ... as read from a file."""
        return Origin(np.arange(rows, dtype=np.int64), np.zeros(rows, dtype=np.int16))

    @staticmethod
    def made_by(method: str, rows: np.ndarray) -> Origin:
        """New rows that `method` made out of the rows numbered `rows`."""
        return Origin(np.asarray(rows, dtype=np.int64), np.zeros(len(rows), dtype=np.int16), (method,))

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.codes):
            raise ValueError(f"origin has {len(self.rows)} rows but {len(self.codes)} method codes")
        if len(self.codes) and not 0 <= self.codes.min() <= self.codes.max() < len(self.methods):
            raise ValueError(f"origin has a method code outside 0..{len(self.methods) - 1}")
        _freeze(self, "rows", np.int64)
        _freeze(self, "codes", np.int16)

    def names(self) -> list[str]:
        """The method of each row."""
        return [self.methods[code] for code in self.codes]

    def is_original(self) -> np.ndarray:
        """(rows,) bool: the rows that no method made."""
        return np.array([method == "" for method in self.methods], dtype=bool)[self.codes]

    def take(self, index: np.ndarray) -> Origin:
        return Origin(self.rows[index], self.codes[index], self.methods)

    @staticmethod
    def concat(parts: Sequence[Origin]) -> Origin:
        methods = tuple(dict.fromkeys(method for part in parts for method in part.methods))
        place = {method: code for code, method in enumerate(methods)}
        codes = [np.array([place[m] for m in p.methods], dtype=np.int16)[p.codes] for p in parts]
        return Origin(np.concatenate([part.rows for part in parts]), np.concatenate(codes), methods)

    def same_as(self, other: Origin) -> bool:
        return np.array_equal(self.rows, other.rows) and self.names() == other.names()


@dataclass(frozen=True, eq=False)
class Dataset:
    """Texts with soft targets, loss weights, ignored and excluded pairs, and the origin of each row.

    Pairs are (rows, labels) matrices. An ignored pair gives no loss; an excluded pair is neither rewarded nor
    punished by evaluation. `weights`, (rows,) float32 >= 0, are those of the rows in the loss. Columns left
    out get their neutral value: weight 1, no pairs, original rows.

    `ids` are the user's own ids of the rows, empty for a row without one; a made row has its source's.

    `label_weights`, (labels,) float32 > 0, multiply the loss of each label in the rows that an augmentation
    made. A dataset without such rows has none.

    >>> from tailwright.data.pairs import pairs_from_lists
    >>> data = Dataset(["red shoes", "blue hat"], pairs_from_lists([[0, 1], [2]], labels=3))
    >>> len(data), data.labels, data.take([1]).texts.to_pylist()
    (2, 3, ['blue hat'])
    """

    texts: pa.LargeStringArray
    targets: sparse.csr_array  # float32, values in (0, 1]
    weights: np.ndarray = field(default=None)  # type: ignore[arg-type]
    ignored: sparse.csr_array = field(default=None)
    excluded: sparse.csr_array = field(default=None)
    origin: Origin = field(default=None)  # type: ignore[assignment]
    label_weights: np.ndarray | None = None
    ids: pa.LargeStringArray | None = None

    def __post_init__(self) -> None:
        texts = arrow_strings(self.texts)
        rows = len(texts)
        object.__setattr__(self, "texts", texts)
        object.__setattr__(self, "targets", checked(self.targets))
        labels = self.targets.shape[1]
        if self.weights is None:
            object.__setattr__(self, "weights", np.ones(rows, dtype=np.float32))
        if self.origin is None:
            object.__setattr__(self, "origin", Origin.originals(rows))
        for name in ("ignored", "excluded"):
            pairs = getattr(self, name)
            object.__setattr__(self, name, empty_pairs(rows, labels) if pairs is None else checked(pairs))
        _freeze(self, "weights", np.float32)
        self._validate(rows, labels)
        if self.label_weights is not None:
            self._weigh_labels(labels)
        if self.ids is not None:
            self._name_rows(rows)

    def _name_rows(self, rows: int) -> None:
        ids = arrow_strings(self.ids)
        if len(ids) != rows:
            raise ValueError(f"ids has {len(ids)} entries, expected {rows}")
        import pyarrow.compute as pc  # heavy, and no answer needs it

        has_some = pc.any(pc.not_equal(ids, "")).as_py()
        object.__setattr__(self, "ids", ids if has_some else None)

    def _validate(self, rows: int, labels: int) -> None:
        for name in PAIR_COLUMNS:
            shape = getattr(self, name).shape
            if shape != (rows, labels):
                raise ValueError(f"{name} has shape {shape}, expected {(rows, labels)}")
        for name, column in (("weights", self.weights), ("origin.rows", self.origin.rows)):
            if column.shape != (rows,):
                raise ValueError(f"{name} has shape {column.shape}, expected ({rows},)")
        values = self.targets.data
        good = (values > 0) & (values <= 1)
        if not good.all():
            raise ValueError(f"targets must be in (0, 1], got {values[~good][0]}")
        if not bool(np.all(np.isfinite(self.weights) & (self.weights >= 0))):
            raise ValueError("weights must be finite and >= 0")
        for name in ("ignored", "excluded"):
            if not bool(np.all(getattr(self, name).data == 1)):
                raise ValueError(f"{name} must store ones only")

    def _weigh_labels(self, labels: int) -> None:
        _freeze(self, "label_weights", np.float32)
        weights = self.label_weights
        assert weights is not None
        if weights.shape != (labels,):
            raise ValueError(f"label_weights has shape {weights.shape}, expected ({labels},)")
        if not bool(np.all(np.isfinite(weights) & (weights > 0))):
            raise ValueError("label_weights must be finite and > 0; a pair without loss is an ignored one")
        if not labels or bool(self.origin.is_original().all()):
            object.__setattr__(self, "label_weights", None)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def labels(self) -> int:
        """The number of labels (columns of `targets`)."""
        return int(self.targets.shape[1])

    def take(self, index: Sequence[int] | np.ndarray) -> Dataset:
        """The rows at `index`, in that order; a row may be taken twice."""
        rows = np.asarray(index, dtype=np.int64)
        pairs = {name: getattr(self, name)[rows] for name in PAIR_COLUMNS}
        return Dataset(
            self.texts.take(pa.array(rows)),
            weights=self.weights[rows],
            origin=self.origin.take(rows),
            label_weights=self.label_weights,
            ids=None if self.ids is None else self.ids.take(pa.array(rows)),
            **pairs,
        )

    @staticmethod
    def concat(parts: Sequence[Dataset]) -> Dataset:
        """The rows of all parts, in order.

        All must be over the same labels, and made rows of one part must have the label weights of the others.
        """
        if not parts:
            raise ValueError("nothing to concatenate")
        return Dataset(
            pa.concat_arrays([part.texts for part in parts]),
            weights=np.concatenate([part.weights for part in parts]),
            origin=Origin.concat([part.origin for part in parts]),
            label_weights=_common_label_weights(parts),
            ids=_all_ids(parts),
            **{name: stack_pairs([getattr(part, name) for part in parts]) for name in PAIR_COLUMNS},
        )

    def sample(self, fraction: float, seed: int = 0) -> Dataset:
        """A random share of the rows, in their order. Samples of one seed are nested: 1 % lies in 5 %."""
        if not 0 < fraction <= 1:
            raise ValueError(f"fraction must be in (0, 1], got {fraction}")
        order = stream(seed, "sample").permutation(len(self))
        return self.take(np.sort(order[: share_of(len(self), fraction)]))

    def split(self, valid: float = 0.1, seed: int = 0) -> tuple[Dataset, Dataset]:
        """(training, validation): `valid` of the rows drawn at random are held out."""
        if not 0 < valid < 1:
            raise ValueError(f"valid must be in (0, 1), got {valid}")
        order = stream(seed, "split").permutation(len(self))
        kept = share_of(len(self), 1 - Fraction(str(valid)))
        return self.take(np.sort(order[:kept])), self.take(np.sort(order[kept:]))

    def learnt_targets(self) -> sparse.csr_array:
        """The targets of the pairs that give a loss: all but the ignored ones."""
        return sparse.csr_array(self.targets - self.targets.multiply(self.ignored))

    def weighted_targets(self) -> sparse.csr_array:
        """The targets of the pairs that give a loss, times their weight; zeros are not stored.

        The weight of a pair is that of its row, in a made row times that of its label.
        """
        weighted = self.learnt_targets()
        weighted.data *= np.repeat(self.weights, np.diff(weighted.indptr))
        if self.label_weights is not None:
            original = self.origin.is_original()[row_ids(weighted)]
            weighted.data *= np.where(original, np.float32(1), self.label_weights[weighted.indices])
        weighted.eliminate_zeros()
        return weighted

    def weighted_counts(self) -> np.ndarray:
        """(labels,) float64: the sum of `weighted_targets` over the rows."""
        weights, learnt = self.weights.astype(np.float64), self.learnt_targets()
        if self.label_weights is None:
            return np.asarray(weights @ learnt)
        original = self.origin.is_original()
        of_originals, of_made = (weights * original) @ learnt, (weights * ~original) @ learnt
        return np.asarray(of_originals + self.label_weights * of_made)

    def binarised(self, threshold: float) -> Dataset:
        """Hard labels only: targets of at least `threshold` become 1, the others are dropped."""
        if not 0 < threshold <= 1:
            raise ValueError(f"threshold must be in (0, 1], got {threshold}")
        targets = self.targets.copy()
        targets.data = (targets.data >= np.float32(threshold)).astype(np.float32)
        targets.eliminate_zeros()
        return replace(self, targets=targets)

    def originals(self) -> Dataset:
        """The rows that no augmentation made."""
        original = self.origin.is_original()
        return self if bool(original.all()) else self.take(np.flatnonzero(original))

    def weighed(self) -> Dataset:
        """The rows whose weight is above 0."""
        return self if bool(self.weights.all()) else self.take(np.flatnonzero(self.weights))

    def feed(self, digest: hashlib.blake2b) -> None:
        """Put every column into a hash."""
        feed_strings(digest, self.texts)
        for name in PAIR_COLUMNS:
            pairs = getattr(self, name)
            for part in (pairs.indptr.astype(np.int64), pairs.indices.astype(np.int64), pairs.data):
                digest.update(np.ascontiguousarray(part).data)
        digest.update(self.weights.data)
        digest.update(self.origin.rows.data)
        digest.update("\0".join(self.origin.names()).encode())
        if self.label_weights is not None:
            digest.update(b"\0label weights")
            digest.update(self.label_weights.data)
        if self.ids is not None:
            digest.update(b"\0ids")
            feed_strings(digest, self.ids)

    def same_as(self, other: Dataset) -> bool:
        """Whether every column is equal, bit for bit."""
        return (
            self.texts.equals(other.texts)
            and all(same_pairs(getattr(self, name), getattr(other, name)) for name in PAIR_COLUMNS)
            and np.array_equal(self.weights, other.weights)
            and self.origin.same_as(other.origin)
            and _same_label_weights(self, other)
            and (
                self.ids is other.ids if self.ids is None or other.ids is None else self.ids.equals(other.ids)
            )
        )


def _same_label_weights(one: Dataset, other: Dataset) -> bool:
    if one.label_weights is None or other.label_weights is None:
        return one.label_weights is other.label_weights
    return np.array_equal(one.label_weights, other.label_weights)


def _all_ids(parts: Sequence[Dataset]) -> pa.LargeStringArray | None:
    """The ids of all parts, empty ones for a part that has none; None if no part has any."""
    if all(part.ids is None for part in parts):
        return None
    return pa.concat_arrays([no_strings(len(part)) if part.ids is None else part.ids for part in parts])


def no_strings(rows: int) -> pa.LargeStringArray:
    """A column of empty strings."""
    return pa.repeat(pa.scalar("", pa.large_string()), rows)


def _common_label_weights(parts: Sequence[Dataset]) -> np.ndarray | None:
    """The label weights of the parts that have made rows; ValueError if these differ."""
    weighted = [part for part in parts if part.label_weights is not None]
    if not weighted:
        return None
    made = [part for part in parts if not bool(part.origin.is_original().all())]
    if not all(_same_label_weights(part, weighted[0]) for part in made):
        raise ValueError("made rows have different label weights")
    return weighted[0].label_weights


def share_of(rows: int, fraction: float | Fraction) -> int:
    """floor(fraction x rows) in exact arithmetic: 29 % of 100 rows is 29, not 28."""
    return int(rows * Fraction(str(fraction)))


def arrow_strings(texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> pa.LargeStringArray:
    """Texts as one Arrow large_string array without nulls."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if isinstance(texts, list | tuple) and all(type(text) is str for text in texts):
        return _encoded(texts)
    array = texts if isinstance(texts, pa.Array) else pa.array(texts, type=pa.large_string())
    if array.type != pa.large_string():
        array = array.cast(pa.large_string())
    if array.null_count:
        raise ValueError("a text is null; use an empty string")
    return array


def _encoded(texts: Sequence[str]) -> pa.LargeStringArray:
    """Strings as an array; `pa.array` would import pandas, which takes as long as to load a run."""
    parts = [text.encode() for text in texts]
    bounds = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=bounds[1:])
    return pa.LargeStringArray.from_buffers(len(parts), pa.py_buffer(bounds), pa.py_buffer(b"".join(parts)))


def strings_at(column: pa.LargeStringArray, places: np.ndarray) -> list[str]:
    """The strings of a column at `places`; for a few this is much quicker than `take`.

    >>> strings_at(arrow_strings(["red", "été", "", "hat"]), np.array([3, 1, 1, 2]))
    ['hat', 'été', 'été', '']
    """
    bounds, values = text_buffers(column)
    spans = zip(bounds[places].tolist(), bounds[places + 1].tolist(), strict=True)
    return [str(values.data[start:end], "utf-8") for start, end in spans]


def not_blank(texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> np.ndarray:
    """(texts,) bool: whether a text has anything but white space.

    >>> not_blank(["red hat", " ", ""]).tolist()
    [True, False, False]
    """
    import pyarrow.compute as pc  # heavy, and no answer needs it

    filled = pc.not_equal(pc.utf8_trim_whitespace(arrow_strings(texts)), "")
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def feed_strings(digest: hashlib.blake2b, strings: pa.LargeStringArray) -> None:
    """Put a column of strings into a hash: their lengths, then their bytes."""
    bounds, values = text_buffers(strings)
    digest.update(np.diff(bounds).data)
    digest.update(values[bounds[0] : bounds[-1]].data)


def text_buffers(texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """(offsets (rows + 1,) int64, bytes) of a column, not copied; the offsets of a slice are its own."""
    _, offsets, values = texts.buffers()
    if not len(texts):
        return frozen(np.zeros(1, np.int64)), _read_only(values, np.uint8)
    bounds = _read_only(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return bounds, _read_only(values, np.uint8)


def _read_only(buffer: pa.Buffer | None, dtype: type) -> np.ndarray:
    if buffer is None or buffer.size == 0:
        return frozen(np.empty(0, dtype))
    return frozen(np.frombuffer(buffer, dtype))


def frozen(array: np.ndarray) -> np.ndarray:
    """`array` made read-only: numba compiles a kernel again for writeable inputs."""
    array.flags.writeable = False
    return array


def _freeze(owner: object, name: str, dtype: type) -> None:
    column: np.ndarray = np.ascontiguousarray(getattr(owner, name), dtype=dtype)
    if column.flags.writeable:
        column = column.copy() if column is getattr(owner, name) else column
        column.flags.writeable = False
    object.__setattr__(owner, name, column)
