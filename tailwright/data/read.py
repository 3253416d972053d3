"""`read`: a corpus from a user's files, recognised by their names as `docs/data.md` lists them.

If a folder has the files of several formats, the first that `_read_folder` looks for counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tailwright.data.corpus import Corpus
from tailwright.data.formats.cells import split_all
from tailwright.data.formats.columns import FileColumns
from tailwright.data.formats.delimited import read_delimited
from tailwright.data.formats.jsonl import read_jsonl
from tailwright.data.formats.labels import LabelsFile, read_labels
from tailwright.data.formats.parquet import read_parquet
from tailwright.data.formats.resolve import LabelIndex, dataset_of, space_of
from tailwright.data.formats.source import ROW_SUFFIXES, SPLIT_NAMES, Folder, base_name, unreadable
from tailwright.data.formats.token_lines import is_fasttext, read_fasttext, read_texts_labels
from tailwright.data.formats.xc import read_xc, read_xc_json, refuse_features
from tailwright.errors import InputError

TEST_SHARE = 0.2

_READERS: dict[str, Callable[[Path], FileColumns]] = {
    ".jsonl": read_jsonl,
    ".json": read_jsonl,
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".parquet": read_parquet,
}
_KNOWN = (
    "train.jsonl, .json, .csv, .tsv or .parquet; trn.json and lbl.json; trn_X_Y.txt and trn_X.txt; "
    "train_texts.txt and train_labels.txt; train.txt with __label__ (each may end in .gz or .zst)"
)


def read(path: str | Path, *, seed: int = 0) -> Corpus:
    """The corpus in a folder or in one file; a one-line `InputError` says what is wrong.

    `seed` draws the test rows of a single file; it does not affect folders.
    """
    return replace(_read(Path(path), seed), source=str(Path(path).resolve()))


def _read(path: Path, seed: int) -> Corpus:
    try:
        if path.is_dir():
            return _read_folder(Folder.at(path))
        path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return _read_file(path, seed)


def _read_folder(folder: Folder) -> Corpus:
    if folder.has("trn.json", "tst.json"):
        return read_xc_json(folder)
    if folder.has("trn_X_Y.txt", "tst_X_Y.txt"):
        return read_xc(folder)
    rows = {split: folder.find_rows(*names) for split, names in SPLIT_NAMES.items()}
    if rows["train"] is not None:
        return _corpus(folder, split_all({s: _read_rows(p) for s, p in rows.items() if p is not None}))
    if folder.has("train_texts.txt", "train_raw_texts.txt", "train_labels.txt"):
        return _corpus(folder, read_texts_labels(folder))
    lines = {split: folder.find(*(f"{n}.txt" for n in names)) for split, names in SPLIT_NAMES.items()}
    if lines["train"] is not None:
        if is_fasttext(lines["train"]):
            return _corpus(folder, read_fasttext({s: p for s, p in lines.items() if p is not None}))
        refuse_features(lines["train"])
    shown = ", ".join(sorted(folder.names)[:5]) or "nothing"
    raise InputError(f"no training rows in this folder (it has {shown})", expected=_KNOWN, path=folder.path)


def _read_rows(path: Path) -> FileColumns:
    return _READERS[Path(base_name(path.name)).suffix](path)


def _corpus(folder: Folder, files: Mapping[str, FileColumns]) -> Corpus:
    labels_path = folder.find_labels()
    found = LabelsFile(space_of(files)) if labels_path is None else read_labels(labels_path)
    index, weights = LabelIndex(found.space, labels_path), found.made_weights
    splits = {s: replace(dataset_of(columns, index), label_weights=weights) for s, columns in files.items()}
    return Corpus.of_splits(found.space, splits)


def _read_file(path: Path, seed: int) -> Corpus:
    suffix = Path(base_name(path.name)).suffix
    if suffix in ROW_SUFFIXES:
        columns = split_all({"all": _read_rows(path)})["all"]
    elif suffix == ".txt":
        if not is_fasttext(path):
            refuse_features(path)
            raise InputError("lines without __label__", expected="fastText lines, or a folder", path=path)
        columns = read_fasttext({"all": path})["all"]
    else:
        expected = f"one of {', '.join(ROW_SUFFIXES)}, .txt (fastText), or a folder"
        raise InputError(f"the suffix {suffix!r}", expected=expected, path=path)
    labels = space_of({"all": columns})
    data = dataset_of(columns, LabelIndex(labels))
    if len(data) < 2:
        return Corpus(data, labels)
    train, test = data.split(TEST_SHARE, seed)
    return Corpus(train, labels, test=test)
