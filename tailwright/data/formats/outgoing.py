"""What writers share: references to labels, short numbers, lines, and what a format cannot carry."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin
from tailwright.data.formats.columns import Reference, default_names, is_integer, positions
from tailwright.data.formats.resolve import LabelIndex
from tailwright.data.formats.source import BOM
from tailwright.errors import InputError, quoted

_LINES_AT_ONCE = 4096
_LINE_BREAK = r"\r\n|[\r\n]"


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


@contextmanager
def sink(path: Path) -> Iterator[Sink]:
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
    if all(is_integer(label) and -(2**63) <= int(label) < 2**63 for label in ids):
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
        for pairs in (split.targets, split.ignored, split.excluded):
            used[pairs.indices] = True
    return used


def written_columns(data: Dataset) -> set[str]:
    """The optional columns that do not have their neutral value everywhere."""
    differs = {
        "relevance": bool(np.any(data.targets.data != 1)),
        "weight": bool(np.any(data.weights != 1)),
        "exclude": data.excluded.nnz > 0,
        "ignore": data.ignored.nnz > 0,
        "origin": not data.origin.same_as(Origin.originals(len(data))),
    }
    return {name for name, differing in differs.items() if differing}


def rows_of(data: Dataset, references: list[Reference]) -> Iterator[dict[str, Any]]:
    """Each row as an object, with those optional fields that the split needs."""
    columns = written_columns(data)
    lists: dict[str, Callable[[int], list[Any]]] = {"labels": _lists(data.targets, references)}
    if "relevance" in columns:
        values = short_floats(data.targets.data)
        bounds = data.targets.indptr.tolist()
        lists["relevance"] = lambda row: values[bounds[row] : bounds[row + 1]]
    weights = short_floats(data.weights) if "weight" in columns else []
    for name, pairs in (("exclude", data.excluded), ("ignore", data.ignored)):
        if name in columns:
            lists[name] = _lists(pairs, references)
    origin = zip(data.origin.rows.tolist(), data.origin.names(), strict=True) if "origin" in columns else None
    for row, text in enumerate(data.texts.to_pylist()):
        content: dict[str, Any] = {"text": text}
        content |= {name: of(row) for name, of in lists.items()}
        if weights:
            content["weight"] = weights[row]
        if origin is not None:
            source, method = next(origin)
            content["origin"] = {"row": source, "method": method}
        yield content


def _lists(pairs: Any, references: list[Reference]) -> Callable[[int], list[Reference]]:
    bounds, labels = pairs.indptr.tolist(), pairs.indices.tolist()
    return lambda row: [references[label] for label in labels[bounds[row] : bounds[row + 1]]]


def label_rows(space: LabelSpace) -> Iterator[dict[str, Any]]:
    """Each label as an object; ids are integers if all of them are."""
    ids: list[str] = space.ids.to_pylist()
    shown = [int(label) for label in ids] if all(is_integer(label) for label in ids) else ids
    names = space.names.to_pylist() if has_own_names(space) else None
    for column, (label, text) in enumerate(zip(shown, space.texts.to_pylist(), strict=True)):
        row: dict[str, Any] = {"id": label, "text": text}
        yield row if names is None else {**row, "name": names[column]}


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
        "label ids": not labels.ids.equals(positions(len(labels))),
        "label names": has_own_names(labels),
        "line breaks": any(pc.any(pc.match_substring_regex(t, _LINE_BREAK)).as_py() for t in texts),
    }
    return tuple(name for name, is_present in present.items() if is_present and name not in carried)
