"""The extreme-classification repository's two formats: sparse matrices with raw text, and JSON lines.

`trn_X_Y.txt` has a header `rows labels` and then, for each row, a line of `label:value` pairs; `trn_X.txt`
has the text of each row on a line, `Y.txt` that of each label. A filter file has a line `row label` for each
pair that evaluation neither rewards nor punishes. All numbers count from 0. Validation rows, for which the
repository has no files, are in `val_X_Y.txt` and `val_X.txt`.

`trn.json` and `tst.json` have rows with `uid`, `title`, `content`, `target_ind` (positions in `lbl.json`) and
`target_rel`; `lbl.json` has labels with `uid`, `title` and `content`. The text is the title, followed by the
content if there is any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from scipy import sparse

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset
from tailwright.data.formats.columns import Fields, FileColumns, positions
from tailwright.data.formats.jsonl import read_jsonl, write_objects
from tailwright.data.formats.labels import numbered_space, read_labels
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.outgoing import lost, one_line, row_lists, short_floats, write_lines
from tailwright.data.formats.resolve import LabelIndex, pair_marks
from tailwright.data.formats.rows import Values
from tailwright.data.formats.source import Folder, numbered_lines, read_bytes, text_lines
from tailwright.data.pairs import pairs_from_arrays, row_ids
from tailwright.errors import InputError, quoted

FIELDS = Fields(labels="target_ind", relevance="target_rel")
PREFIXES = {"train": "trn", "valid": "val", "test": "tst"}
_PAIR_CHARACTERS = b"0123456789.:eE+- \t\r\n"
_EACH_PAIR_ON_A_LINE = bytes.maketrans(b" \t\r", b"\n\n\n")
_PAIR = re.compile(r"([0-9]+):(\S+)")
_FEATURES = "text: this file has features and no text, so add raw text (trn_X.txt, tst_X.txt, Y.txt)"


def read_xc(folder: Folder) -> Corpus:
    """The corpus of a folder with `trn_X_Y.txt` and raw text."""
    splits: dict[str, Dataset] = {}
    labels: LabelSpace | None = None
    first = ""
    for split, path in _find_splits(folder, "_X_Y.txt").items():
        targets = read_label_matrix(path)
        if labels is None:
            labels, first = _labels(folder, targets.shape[1]), path.name
        if targets.shape[1] != len(labels):
            problem = f"{targets.shape[1]} labels in the header"
            raise InputError(problem, expected=f"{len(labels)} as in {first}", path=path, line=1)
        excluded = read_exclusions(folder, split, *targets.shape)
        splits[split] = Dataset(_texts(folder, split, targets.shape[0], path), targets, excluded=excluded)
    if labels is None or "train" not in splits:
        raise InputError("no training rows", expected="trn_X_Y.txt", path=folder.path)
    return Corpus.of_splits(labels, splits)


def _find_splits(folder: Folder, ending: str) -> dict[str, Path]:
    paths = {split: folder.find(prefix + ending) for split, prefix in PREFIXES.items()}
    return {split: path for split, path in paths.items() if path is not None}


def _texts(folder: Folder, split: str, rows: int, matrix: Path) -> pa.LargeStringArray:
    prefix = PREFIXES[split]
    path = folder.find(f"{prefix}_X.txt", f"{prefix}_raw_texts.txt", f"{split}_raw_texts.txt")
    if path is None:
        problem = f"{matrix.name} without the text of its rows"
        raise InputError(problem, expected=f"raw text in {prefix}_X.txt", path=folder.path)
    texts = text_lines(path)
    if len(texts) != rows:
        raise InputError(f"{len(texts)} lines", expected=f"{rows} as in {matrix.name}", path=path)
    return texts


def _labels(folder: Folder, count: int) -> LabelSpace:
    path = folder.find("Y.txt", "lbl_raw_texts.txt")
    if path is None:
        return LabelSpace.numbered(count)
    texts = text_lines(path)
    if len(texts) != count:
        problem = f"{len(texts)} lines"
        raise InputError(problem, expected=f"{count}, one for each label of the header", path=path)
    return numbered_space(texts)


def read_exclusions(folder: Folder, split: str, rows: int, labels: int) -> sparse.csr_array | None:
    """The excluded pairs of a split, if there is a filter file for it."""
    path = folder.find(f"filter_labels_{split}.txt", f"{PREFIXES[split]}_filter_labels.txt")
    return None if path is None else read_filter_pairs(path, rows, labels)


def read_label_matrix(path: Path) -> sparse.csr_array:
    """The (rows, labels) matrix of a file such as `trn_X_Y.txt`; values in (0, 1] are soft targets."""
    header, _, body = read_bytes(path).partition(b"\n")
    rows, labels = _header(header, path)
    lines = body.count(b"\n") + (bool(body) and not body.endswith(b"\n"))
    if lines != rows:
        problem = f"{lines} lines after a header of {rows} rows"
        raise InputError(problem, expected="as many lines as rows", path=path, line=1)
    matrix = _matrix_quickly(body, rows, labels)
    return _matrix_carefully(path, rows, labels) if matrix is None else matrix


def _header(header: bytes, path: Path) -> tuple[int, int]:
    numbers = header.split()
    if not all(number.isdigit() and len(number) < 19 for number in numbers) or len(numbers) not in (2, 3):
        problem = f"the header {quoted(header.decode(errors='replace').strip())}"
        raise InputError(problem, expected="two numbers: rows labels", path=path, line=1)
    if len(numbers) == 3:
        raise InputError("the header `rows features labels`", expected=_FEATURES, path=path, line=1)
    return int(numbers[0]), int(numbers[1])


def _matrix_quickly(body: bytes, rows: int, labels: int) -> sparse.csr_array | None:
    """The matrix by Arrow's parser, or None if anything is unusual."""
    if body.translate(None, _PAIR_CHARACTERS):
        return None
    characters = np.frombuffer(body if body.endswith(b"\n") else body + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))[:rows]
    offsets = np.zeros(rows + 1, dtype=np.int64)
    colons = np.flatnonzero(characters == ord(":"))
    offsets[1:] = np.searchsorted(colons, ends)
    if not len(colons):
        return None if body.strip() else pairs_from_arrays(np.zeros(0), np.zeros(0), offsets, labels)
    try:
        pairs = pyarrow.csv.read_csv(
            pa.BufferReader(body.translate(_EACH_PAIR_ON_A_LINE)),
            read_options=pyarrow.csv.ReadOptions(column_names=["label", "value"]),
            parse_options=pyarrow.csv.ParseOptions(delimiter=":", quote_char=False),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={"label": pa.uint32(), "value": pa.float64()}, null_values=[]
            ),
        )
        indices = pairs["label"].to_numpy().astype(np.int64)
        values = pairs["value"].to_numpy()
        with np.errstate(under="ignore"):
            narrow = values.astype(np.float32)
        if len(indices) != len(colons) or not bool(np.all((narrow > 0) & (values <= 1))):
            return None
        return pairs_from_arrays(narrow, indices, offsets, labels)
    except (pa.ArrowException, ValueError):
        return None


def _matrix_carefully(path: Path, rows: int, labels: int) -> sparse.csr_array:
    """The same, line by line; an error names its line."""
    offsets, indices, values = [0], list[int](), list[float]()
    for line, text in numbered_lines(path):
        if line == 1:
            continue
        check, of_line = Values(path, line), set[int]()
        for token in text.split():
            label, value = _pair(token, check)
            if label >= labels:
                raise check.error(f"label id {label}", f"an id in 0..{labels - 1}, as the header says")
            if label in of_line:
                raise check.twice(label)
            of_line.add(label)
            indices.append(label)
            values.append(value)
        offsets.append(len(indices))
    return pairs_from_arrays(np.array(values), np.array(indices, dtype=np.int64), np.array(offsets), labels)


def _pair(token: str, check: Values) -> tuple[int, float]:
    match = _PAIR.fullmatch(token)
    try:
        if match is None:
            raise ValueError
        label, value = int(match[1]), float(match[2])
    except ValueError as error:
        raise check.error(quoted(token), "label:value") from error
    if not (value <= 1 and np.float32(value) > 0):
        raise check.error(f"soft value {match[2]} of label {label}", "a number in (0, 1]")
    return label, value


def read_filter_pairs(path: Path, rows: int, labels: int) -> sparse.csr_array:
    """The (rows, labels) matrix of ones at the `row label` pairs of a filter file, which may be empty."""
    entries: list[tuple[int, int]] = []
    for line, text in numbered_lines(path):
        tokens = text.split()
        if not tokens:
            continue
        if len(tokens) != 2 or not all(token.isdecimal() and len(token) < 19 for token in tokens):
            raise InputError(quoted(text), expected="two numbers: row label", path=path, line=line)
        row, label = int(tokens[0]), int(tokens[1])
        if row >= rows or label >= labels:
            expected = f"a row in 0..{rows - 1} and a label in 0..{labels - 1}"
            raise InputError(f"the pair {row} {label}", expected=expected, path=path, line=line)
        entries.append((row, label))
    pairs = np.array(entries, dtype=np.int64).reshape(-1, 2)
    return pair_marks(pairs[:, 0], pairs[:, 1], rows, labels)


def refuse_features(path: Path) -> None:
    """InputError if the file has the header `rows features labels` of the older format, which has no text."""
    first = next((text for _, text in numbered_lines(path)), "")
    if re.fullmatch(r"\s*[0-9]+\s+[0-9]+\s+[0-9]+\s*", first):
        raise InputError("the header `rows features labels`", expected=_FEATURES, path=path, line=1)


def write_xc(corpus: Corpus, folder: Path) -> tuple[str, ...]:
    """Write label matrices, raw text and filter files."""
    for split, data in corpus.splits().items():
        prefix = PREFIXES[split]
        write_lines(folder / f"{prefix}_X_Y.txt", _matrix_lines(data.targets))
        write_lines(folder / f"{prefix}_X.txt", one_line(data.texts).to_pylist())
    write_exclusions(corpus, folder)
    if pc.any(pc.not_equal(corpus.labels.texts, "")).as_py():
        write_lines(folder / "Y.txt", one_line(corpus.labels.texts).to_pylist())
    return lost(corpus, "soft targets", "excluded pairs")


def _matrix_lines(matrix: sparse.csr_array) -> Iterator[str]:
    yield f"{matrix.shape[0]} {matrix.shape[1]}"
    values = [repr(value).removesuffix(".0") for value in short_floats(matrix.data)]
    pairs = [f"{label}:{value}" for label, value in zip(matrix.indices.tolist(), values, strict=True)]
    yield from map(" ".join, row_lists(matrix, pairs))


def write_exclusions(corpus: Corpus, folder: Path) -> None:
    """Write a filter file for each split with excluded pairs."""
    for split, data in corpus.splits().items():
        if data.excluded.nnz:
            pairs = zip(row_ids(data.excluded).tolist(), data.excluded.indices.tolist(), strict=True)
            write_lines(folder / f"filter_labels_{split}.txt", (f"{row} {label}" for row, label in pairs))


def read_xc_json(folder: Folder, options: ReadOptions) -> tuple[dict[str, FileColumns], LabelIndex]:
    """The rows of a folder with `trn.json` and `lbl.json`, and its labels; `with_exclusions` follows.

    Where the `uid`s of rows are their numbers, as `write_xc_json` writes them, they are no ids.
    """
    paths = _find_splits(folder, ".json")
    if len(options.labels) > 1:
        found = f"the labels {', '.join(options.labels)}"
        raise InputError(found, expected="one column, beside lbl.json", path=folder.path)
    files = {split: read_jsonl(path, options, FIELDS) for split, path in paths.items()}
    labels_path = folder.find("lbl.json")
    if "train" not in files or labels_path is None:
        missing = "trn.json" if "train" not in files else "lbl.json"
        raise InputError(f"no {missing}", expected="trn.json and lbl.json", path=folder.path)
    for split, file in files.items():
        if file.ids is not None and file.ids.equals(positions(len(file.ids))):
            files[split] = replace(file, ids=None)
    return files, LabelIndex(read_labels(labels_path).space, labels_path, by_position=True)


def with_exclusions(folder: Folder, splits: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """The splits with the excluded pairs of their filter files, where they have one."""
    excluded = {
        split: read_exclusions(folder, split, len(data), data.labels) for split, data in splits.items()
    }
    return {
        split: data if excluded[split] is None else replace(data, excluded=excluded[split])
        for split, data in splits.items()
    }


def write_xc_json(corpus: Corpus, folder: Path) -> tuple[str, ...]:
    """Write rows and labels as gzipped JSON lines, and filter files; a `uid` is the row's id or number."""
    if not len(corpus.labels):
        raise InputError("no labels", expected="at least one, for lbl.json")
    for split, data in corpus.splits().items():
        write_objects(folder / f"{PREFIXES[split]}.json.gz", _rows(data))
    labels = zip(corpus.labels.ids.to_pylist(), corpus.labels.texts.to_pylist(), strict=True)
    rows = ({"uid": label, "title": text, "content": ""} for label, text in labels)
    write_objects(folder / "lbl.json.gz", rows)
    write_exclusions(corpus, folder)
    return lost(corpus, "soft targets", "excluded pairs", "label ids", "line breaks", "row ids")


def _rows(data: Dataset) -> Iterator[dict[str, Any]]:
    labels = row_lists(data.targets, data.targets.indices.tolist())
    values = row_lists(data.targets, short_floats(data.targets.data))
    uids = (positions(len(data)) if data.ids is None else data.ids).to_pylist()
    for uid, text, ids, soft in zip(uids, data.texts.to_pylist(), labels, values, strict=True):
        yield {"uid": uid, "title": text, "content": "", "target_ind": ids, "target_rel": soft}
