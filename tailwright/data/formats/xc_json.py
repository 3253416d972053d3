"""The extreme-classification repository's raw text: `trn.json`, `tst.json` and `lbl.json`, JSON lines.

A row has `uid`, `title`, `content`, `target_ind` (positions in the label file) and `target_rel`; a label has
`uid`, `title` and `content`. The text is the title, followed by the content if there is any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.formats.columns import Fields, FileColumns
from tailwright.data.formats.folder import Folder
from tailwright.data.formats.jsonl import read_jsonl, write_objects
from tailwright.data.formats.labels import read_labels
from tailwright.data.formats.outgoing import lost, short_floats
from tailwright.data.formats.resolve import LabelIndex, dataset_of
from tailwright.data.formats.xc import PREFIXES, read_exclusions, write_exclusions
from tailwright.errors import InputError

FIELDS = Fields(labels="target_ind", relevance="target_rel")


def read_xc_json(folder: Folder) -> Corpus:
    """The corpus of a folder with `trn.json` and `lbl.json`."""
    files: dict[str, FileColumns] = {}
    for split, prefix in PREFIXES.items():
        path = folder.find(f"{prefix}.json")
        if path is not None:
            files[split] = read_jsonl(path, FIELDS)
    labels_path = folder.find("lbl.json")
    if "train" not in files or labels_path is None:
        missing = "trn.json" if "train" not in files else "lbl.json"
        raise InputError(f"no {missing}", expected="trn.json and lbl.json", path=folder.path)
    labels = read_labels(labels_path)
    index = LabelIndex(labels, labels_path, by_position=True)
    splits = {}
    for split, columns in files.items():
        data = dataset_of(columns, index)
        excluded = read_exclusions(folder, split, len(data), len(labels))
        splits[split] = data if excluded is None else replace(data, excluded=excluded)
    return Corpus.of_splits(labels, splits)


def write_xc_json(corpus: Corpus, folder: Path) -> tuple[str, ...]:
    """Write rows and labels as gzipped JSON lines, and filter files; the `uid` of a row is its number."""
    if not len(corpus.labels):
        raise InputError("no labels", expected="at least one, for lbl.json")
    for split, data in corpus.splits().items():
        write_objects(folder / f"{PREFIXES[split]}.json.gz", _rows(data))
    labels = zip(corpus.labels.ids.to_pylist(), corpus.labels.texts.to_pylist(), strict=True)
    rows = ({"uid": label, "title": text, "content": ""} for label, text in labels)
    write_objects(folder / "lbl.json.gz", rows)
    write_exclusions(corpus, folder)
    return lost(corpus, "soft targets", "excluded pairs", "label ids", "line breaks")


def _rows(data: Dataset) -> Iterator[dict[str, Any]]:
    values = short_floats(data.targets.data)
    labels, bounds = data.targets.indices.tolist(), data.targets.indptr.tolist()
    for row, text in enumerate(data.texts.to_pylist()):
        here = slice(bounds[row], bounds[row + 1])
        yield {
            "uid": str(row),
            "title": text,
            "content": "",
            "target_ind": labels[here],
            "target_rel": values[here],
        }
