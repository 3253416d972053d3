"""The labels that a command line lists: by id or name, between commas, or in a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tailwright.data.corpus import LabelSpace
from tailwright.data.formats.columns import positions
from tailwright.data.formats.labels import read_labels
from tailwright.data.formats.row_files import suffix_of
from tailwright.data.formats.source import LABEL_SUFFIXES, numbered_lines
from tailwright.labels.lookup import LabelLookup

_TABLES = set(LABEL_SUFFIXES) - {".txt"}


def listed_labels(values: Iterable[str], labels: LabelSpace) -> list[str]:
    """The labels that `--only` and `--not` list: each value is a label, a file, or labels between commas."""
    lookup = LabelLookup(labels)
    found: list[str] = []
    for value in values:
        if value in lookup:
            found.append(value)
        elif Path(value).is_file():
            found += _labels_in(Path(value), lookup)
        else:
            found += [label.strip() for label in value.split(",") if label.strip()]
    return found


def _labels_in(path: Path, lookup: LabelLookup) -> list[str]:
    """The labels of a file: a labels table, or one on each line."""
    if suffix_of(path) not in _TABLES:
        return [text.strip() for _, text in numbered_lines(path) if text.strip()]
    space = read_labels(path).space
    names: list[str] = space.names.to_pylist()
    # A table without ids has positions instead, which say nothing of the labels of a run.
    named = space.ids.equals(positions(len(space))) and all(name in lookup for name in names)
    return names if named else space.ids.to_pylist()
