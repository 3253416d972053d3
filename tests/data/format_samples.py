"""Builders that the tests of readers and writers share: small files, and corpora with awkward labels."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from strategies import datasets, texts

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.formats.outgoing import label_references
from tailwright.data.read import read
from tailwright.errors import InputError

LABELS = [{"id": 0, "text": "hats"}, {"id": 1, "text": "shoes"}, {"id": 2, "text": "red things"}]
ROWS = [{"text": "a red hat", "labels": [0, 2]}, {"text": "boots", "labels": [1]}]


def put(path: Path, content: str | bytes) -> Path:
    """Write a file (compressed as its suffix says) and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = pa.compress(data, "zstd", asbytes=True)
    path.write_bytes(data)
    return path


def jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows_folder(folder: Path, train: str | bytes, labels: list[Any] | None = None) -> Path:
    """A folder with train.jsonl and, where given, labels.jsonl; returns the train file."""
    if labels is not None:
        put(folder / "labels.jsonl", jsonl(labels))
    return put(folder / "train.jsonl", train)


def label_lists(data: Any) -> list[list[int]]:
    """The label columns of each row."""
    return [data.targets.indices[start:end].tolist() for start, end in pairwise(data.targets.indptr)]


def refusal(path: Path, strict: bool = False) -> InputError:
    """The error of reading `path`, which must be one line that starts with the file at fault."""
    with pytest.raises(InputError) as caught:
        read(path, strict=strict)
    error = caught.value
    assert error.path is not None
    where = f"{error.path}:{error.line}: " if error.line else f"{error.path}: "
    assert str(error).startswith(where)
    assert "\n" not in str(error)
    return error


def assert_refused(
    folder: Path, file: Path, line: int | None, found: str, expected: str, strict: bool = False
) -> None:
    error = refusal(folder, strict)
    assert (error.path, error.line) == (file, line)
    assert found in error.found
    assert expected in (error.expected or "")


# Names and ids that collide with each other, with delimiters, with JSON and with numbers.
awkward = st.text(st.sampled_from("ab017-|;, []{\"'\t\né"), max_size=4) | texts


@st.composite
def awkward_corpora(draw: st.DrawFn) -> Corpus:
    """A corpus whose ids and names are any strings, as long as a row can refer to each label it uses."""
    labels = draw(st.integers(1, 5))
    ids = draw(st.lists(awkward, min_size=labels, max_size=labels, unique=True))
    columns = [draw(st.lists(awkward, min_size=labels, max_size=labels)) for _ in range(2)]
    space = LabelSpace(arrow_strings(ids), *(arrow_strings(column) for column in columns))
    test = draw(st.none() | datasets(labels, min_rows=1, max_rows=3))
    corpus = Corpus(draw(datasets(labels, min_rows=1, max_rows=4)), space, test=test)
    try:
        label_references(corpus)
    except InputError:
        assume(False)
    return corpus
