"""What writers share: references to labels, short numbers, lines, and what a format cannot carry."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import PAIR_COLUMNS, Dataset, Origin
from tailwright.data.formats.columns import Reference, default_names, fits_int64, is_integer, positions
from tailwright.data.formats.resolve import LabelIndex
from tailwright.data.formats.source import BOM
from tailwright.errors import InputError, quoted

Item = TypeVar("Item")

_LINES_AT_ONCE = 4096
_LINE_BREAK = r"\r\n|[\r\n]"


@contextmanager
def sink(path: Path) -> Iterator[Any]:
    """A new file to write bytes to, compressed by its suffix; equal bytes give equal files."""
    with path.open("xb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                yield packed
        elif path.suffix == ".zst":
            with pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd") as packed:
                yield packed
        else:
            yield file


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file of these lines, none of which contains a line break."""
    rest = iter(lines)
    first = next(rest, "")
    # A reader drops a byte order mark, so a text that starts with one needs another.
    rest = chain([BOM + first if first.startswith(BOM) else first], rest)
    with sink(path) as out:
        while some := list(islice(rest, _LINES_AT_ONCE)):
            out.write(("\n".join(some) + "\n").encode())


def one_line(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Texts with each line break replaced by a space."""
    return pc.replace_substring_regex(texts, _LINE_BREAK, " ")


def short_floats(values: np.ndarray) -> list[float]:
    """float32 values as the floats with the fewest digits that round to the same float32.

    >>> short_floats(np.array([0.1, 1.0], dtype=np.float32))
    [0.1, 1.0]
    """
    distinct, places = np.unique(values, return_inverse=True)
    short = np.array([float(str(value)) for value in distinct], dtype=np.float64)
    # In rare cases, rounding to double and then to float32 differs from rounding to float32 directly.
    exact = np.where(short.astype(np.float32) == distinct, short, distinct.astype(np.float64))
    floats: list[float] = exact[places].tolist()
    return floats


def label_references(corpus: Corpus) -> list[Reference]:
    """How rows refer to each label: by its id if that is unambiguous, else by its name."""
    space = corpus.labels
    ids: list[str] = space.ids.to_pylist()
    if all(is_integer(label) and fits_int64(int(label)) for label in ids):
        return [int(label) for label in ids]
    index = LabelIndex(space)
    names: list[str] = space.names.to_pylist()
    references: list[Reference] = []
    used = used_labels(corpus)
    for column, (label, name) in enumerate(zip(ids, names, strict=True)):
        reference = next((ref for ref in (label, name) if index.column_of(ref) == column), None)
        if reference is None and used[column]:
            raise InputError(
                f"label {quoted(label)}: other labels have its id and its name {quoted(name)} as their names",
                expected="an id or a name of its own",
            )
        references.append(label if reference is None else reference)
    return references


def used_labels(corpus: Corpus) -> np.ndarray:
    """(labels,) bool: the labels that some row refers to."""
    used = np.zeros(len(corpus.labels), dtype=bool)
    for split in corpus.splits().values():
        for column in PAIR_COLUMNS:
            used[getattr(split, column).indices] = True
    return used


def written_columns(data: Dataset) -> set[str]:
    """The optional columns that do not have their neutral value everywhere."""
    differs = {
        "relevance": bool(np.any(data.targets.data != 1)),
        "weight": bool(np.any(data.weights != 1)),
        "exclude": data.excluded.nnz > 0,
        "ignore": data.ignored.nnz > 0,
        "origin": not data.origin.same_as(Origin.originals(len(data))),
        "id": data.ids is not None,
    }
    return {name for name, differing in differs.items() if differing}


def rows_of(data: Dataset, references: list[Reference]) -> Iterator[dict[str, Any]]:
    """Each row as an object, with those optional fields that the split needs."""
    written = written_columns(data)
    columns: dict[str, Iterable[Any]] = {
        "text": data.texts.to_pylist(),
        "labels": label_lists(data.targets, references),
    }
    if "relevance" in written:
        columns["relevance"] = row_lists(data.targets, short_floats(data.targets.data))
    for name, pairs in (("exclude", data.excluded), ("ignore", data.ignored)):
        if name in written:
            columns[name] = label_lists(pairs, references)
    if "weight" in written:
        columns["weight"] = short_floats(data.weights)
    if "origin" in written:
        origin = zip(data.origin.rows.tolist(), data.origin.names(), strict=True)
        columns["origin"] = ({"row": row, "method": method} for row, method in origin)
    if data.ids is not None:
        columns["id"] = data.ids.to_pylist()
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def label_lists(pairs: sparse.csr_array, items: Sequence[Item]) -> Iterator[list[Item]]:
    """For each row, the items of its labels; `items` has one for each label."""
    return ([items[label] for label in labels] for labels in row_lists(pairs, pairs.indices.tolist()))


def row_lists(pairs: sparse.csr_array, items: list[Item]) -> Iterator[list[Item]]:
    """For each row, the items of its pairs; `items` has one for each stored pair."""
    return (items[start:end] for start, end in pairwise(pairs.indptr.tolist()))


def label_rows(corpus: Corpus) -> Iterator[dict[str, Any]]:
    """Each label as an object; ids are integers if all of them are."""
    space = corpus.labels
    ids: list[str] = space.ids.to_pylist()
    shown = [int(label) for label in ids] if all(is_integer(label) for label in ids) else ids
    columns: dict[str, Iterable[Any]] = {"id": shown, "text": space.texts.to_pylist()}
    if has_own_names(space):
        columns["name"] = space.names.to_pylist()
    weights = made_weights(corpus)
    if weights is not None:
        columns["made_weight"] = short_floats(weights)
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def made_weights(corpus: Corpus) -> np.ndarray | None:
    """The label weights that hold for the made rows of all splits; an InputError if these differ."""
    splits = {name: data for name, data in corpus.splits().items() if not data.origin.is_original().all()}
    found = [data.label_weights for data in splits.values()]
    weights = next((some for some in found if some is not None), None)
    if weights is not None and not all(some is not None and np.array_equal(some, weights) for some in found):
        raise InputError(
            f"made rows of {' and '.join(splits)} have different label weights",
            expected="the same in all splits, as the labels file has them once",
        )
    return weights


def has_own_names(space: LabelSpace) -> bool:
    """Whether a label has a name other than its default name."""
    return not space.names.equals(default_names(space.ids, space.texts))


def lost(corpus: Corpus, *carried: str) -> tuple[str, ...]:
    """What the corpus has and loses in a format that only carries `carried`."""
    splits, labels = corpus.splits().values(), corpus.labels
    columns = {name for split in splits for name in written_columns(split)}
    texts = [labels.texts, *(split.texts for split in splits)]
    present = {
        "soft targets": "relevance" in columns,
        "weights": "weight" in columns,
        "ignored pairs": "ignore" in columns,
        "excluded pairs": "exclude" in columns,
        "origin": "origin" in columns,
        "row ids": "id" in columns,
        "label weights": any(split.label_weights is not None for split in splits),
        "label ids": not labels.ids.equals(positions(len(labels))),
        "label names": has_own_names(labels),
        "line breaks": any(pc.any(pc.match_substring_regex(t, _LINE_BREAK)).as_py() for t in texts),
    }
    return tuple(name for name, is_present in present.items() if is_present and name not in carried)
