"""`read`: a corpus from a user's files, recognised by their names as `docs/data.md` lists them; or from rows
that the program holds, which `inputs.py` makes columns of.

If a folder has the files of several formats, the first that `_read_folder` looks for counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.formats.annif import documents, read_documents
from tailwright.data.formats.arrow_files import ALL, huggingface_files, read_shards
from tailwright.data.formats.cells import split_all
from tailwright.data.formats.columns import FileColumns, Oddity
from tailwright.data.formats.delimited import is_table
from tailwright.data.formats.given_labels import GivenLabels
from tailwright.data.formats.labels import LabelsFile, read_labels
from tailwright.data.formats.limits import refuse_special
from tailwright.data.formats.notes import column_notes, odd_notes
from tailwright.data.formats.options import SQLITE, STDIN, ReadOptions, columns_in
from tailwright.data.formats.resolve import LabelIndex, dataset_of, space_of
from tailwright.data.formats.row_files import ROW_SUFFIXES, read_rows, suffix_of, with_all_labels
from tailwright.data.formats.source import SPLIT_NAMES, Folder, unreadable
from tailwright.data.formats.standins import StandIns
from tailwright.data.formats.token_lines import is_fasttext, read_fasttext, read_texts_labels
from tailwright.data.formats.vocabulary import read_vocabulary, with_missing
from tailwright.data.formats.xc import read_xc, read_xc_json, refuse_features, with_exclusions
from tailwright.data.inputs import (
    RowLabels,
    Source,
    as_pair,
    errors_of_rows,
    held_rows,
    is_path,
    named_columns,
)
from tailwright.errors import InputError, quoted

Found = TypeVar("Found")

TEST_SHARE = 0.2

_KNOWN = (
    "train.jsonl, .json, .csv, .tsv, .parquet, .xlsx or .arrow; trn.json and lbl.json; trn_X_Y.txt and "
    "trn_X.txt; train_texts.txt and train_labels.txt; train.txt with __label__ (all may end in .gz or .zst), "
    "a folder of `datasets` or of Annif; or the path of one table"
)


def read(
    data: Source,
    labels: str | RowLabels = "",
    *,
    text: str | Sequence[str] = (),
    label_names: Sequence[str] = (),
    label_texts: Mapping[Any, str] | None = None,
    separator: str = "",
    id: str = "",
    weight: str = "",
    vocabulary: str | Path = "",
    language: str = "",
    strict: bool = False,
    seed: int = 0,
    test_share: float | None = None,
) -> Corpus:
    """The corpus in a folder, in one file or in memory; a one-line `InputError` says what is wrong.

    | `data` | |
    |---|---|
    | a path | a folder of files, or one file, of which 80 % become training and 20 % test rows |
    | a table | a data frame (pandas, polars), an Arrow table, a `Dataset` of `datasets` |
    | tables by split | `{"train": frame, "test": frame}`, a `DatasetDict` |
    | texts | a list, a column or an array of strings, with `labels` beside them; or a pair of both |
    | a corpus | is given back |

    Rows in memory all become training rows, unless they come by split or `test_share` is given.

    | argument | |
    |---|---|
    | `labels` | the columns of the labels, as of the text; beside texts, the labels of each, or a matrix |
    | `text` | the columns of the text, in a list or with commas between, to be joined; or their numbers |
    | `label_names` | all labels, in order: those of the columns of a matrix |
    | `label_texts` | what models read of a label, by its name: `{"shoes": "shoes, boots and sandals"}` |
    | `separator` | stands between the labels of a cell; beside texts, a string is one label without it |
    | `id`, `weight` | the columns of the row's id and of its weight in the loss |
    | `vocabulary` | a file with the texts of the labels, of which `language` chooses some |
    | `strict` | odd rows are refused, not mended |
    | `seed`, `test_share` | which rows of a single table become test rows, and which share of them; 0: none |

    The labels of a text are a list of names or ids, a dict of soft values such as `{"shoes": 0.4}`, or one
    label. Columns that are not named are found by their usual names. `corpus.notes` says what was taken, what
    was left and what was mended.

    >>> corpus = read(["red shoes", "wool hat"], [["shoes"], ["hats", "winter"]])
    >>> corpus.labels.names.to_pylist(), corpus.train.targets.toarray().tolist()
    (['hats', 'shoes', 'winter'], [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    >>> corpus = read(["red shoes"], [{"shoes": 0.4}], label_texts={"shoes": "shoes and boots"})
    >>> corpus.labels.texts.to_pylist(), corpus.train.targets.data.round(2).tolist()
    (['shoes and boots'], [0.4000000059604645])
    >>> read("shop.csv", text=["title", "description"], labels="tags", separator="|")    # doctest: +SKIP
    """
    given = ReadOptions(
        *(_columns(text), (), separator, id, weight, "", str(vocabulary), language),
        strict=strict,
        seed=seed,
        test_share=test_share,
    )
    given_labels = GivenLabels.of(label_names, label_texts)
    data, labels = as_pair(data, labels)
    if isinstance(data, Corpus):
        if given_labels or labels != "" or replace(given, seed=0) != ReadOptions():
            found = "found a corpus, and arguments that say how to read one"
            raise InputError(found, expected="them where it is read")
        return data
    if not is_path(data):
        with errors_of_rows():
            return _held(data, labels, given, given_labels)
    columns = named_columns(data, labels)
    if columns is None:
        found = f"found the path {quoted(str(data))} and labels of rows"
        raise InputError(found, expected="a list of texts, or the name of a column")
    place, options = replace(given, labels=columns).of_path(str(data))
    reading = _Reading(options, given_labels)
    corpus = reading.read(place, reading.corpus)
    if not reading.is_parted:
        options = replace(options, seed=0)  # it drew nothing
    if not reading.is_whole:
        if options.test_share:
            found = f"test_share {options.test_share:g} of rows that are split already"
            raise InputError(found, expected="one table", path=place)
        options = replace(options, test_share=None)
    source = "" if given_labels else _source(place, options)
    return replace(corpus, source=source, notes=tuple(reading.notes))


def _held(data: Source, labels: str | RowLabels, options: ReadOptions, given: GivenLabels) -> Corpus:
    """The corpus of rows in memory."""
    held = held_rows(data, labels, options)
    reading = _Reading(held.options, replace(given, width=held.width))
    files = split_all(held.files, held.options)
    if options.test_share and len(files) == 1:
        corpus = reading.parted({ALL: files["train"]})
    else:
        corpus = reading.of_files(files)
    return replace(corpus, notes=tuple(reading.notes))


def read_label_file(path: str | Path) -> tuple[LabelsFile, tuple[str, ...]]:
    """The labels of a labels file or a vocabulary that stands alone, and what reading has to say."""
    reading = _Reading(ReadOptions())
    found = reading.read(str(path), lambda file: read_vocabulary(reading.stand_ins.get(file, file), ""))
    return found, tuple(reading.notes)


def _source(place: str, options: ReadOptions) -> str:
    """The path by which the same corpus can be read again; empty for standard input, which cannot."""
    if place == STDIN:
        return ""
    kind = SQLITE if place.startswith(SQLITE) else ""
    if options.vocabulary:
        options = replace(options, vocabulary=str(Path(options.vocabulary).resolve()))
    return f"{kind}{Path(place.removeprefix(SQLITE)).resolve()}{options.query()}"


@dataclass
class _Reading:
    """One call of `read`: what the user asked for, and what there is to say about it."""

    options: ReadOptions
    given: GivenLabels = field(default_factory=GivenLabels)
    notes: list[str] = field(default_factory=list)
    is_whole: bool = False  # whether the files do not say which rows are for testing
    is_parted: bool = False  # whether test rows were drawn
    stand_ins: Mapping[Path, Path] = field(default_factory=dict)

    def read(self, place: str, reader: Callable[[Path], Found]) -> Found:
        """What a reader finds at a place; files that are not UTF-8 are read again by their stand-ins."""
        with tempfile.TemporaryDirectory(prefix="tailwright-") as scratch:
            stand_ins = StandIns(Path(scratch))
            self.stand_ins = stand_ins.files

            def afresh(path: Path) -> Found:
                self.notes.clear()
                return reader(path)

            found = stand_ins.read(place, afresh)
            self.notes[:0] = stand_ins.notes
            return found

    def corpus(self, path: Path) -> Corpus:
        """The corpus in a folder or in one file."""
        try:
            if path.is_dir():
                return self._read_folder(Folder.at(path, self.stand_ins))
            path = self.stand_ins.get(path, path)
            path.stat()
            refuse_special(path)
        except OSError as error:
            raise unreadable(path, error) from error
        return self.parted(self._read_file(path))

    def _read_folder(self, folder: Folder) -> Corpus:
        if self.given and folder.has("trn.json", "tst.json", "trn_X_Y.txt", "tst_X_Y.txt"):
            expected = "neither, as the folder has labels of its own"
            raise InputError("label_names or label_texts", expected=expected, path=folder.path)
        if folder.has("trn.json", "tst.json"):
            files, index = read_xc_json(folder, self.options)
            return Corpus.of_splits(index.space, with_exclusions(folder, self._datasets(files, index)))
        if folder.has("trn_X_Y.txt", "tst_X_Y.txt"):
            return read_xc(folder)
        rows = {split: folder.find(*_row_names(names)) for split, names in SPLIT_NAMES.items()}
        if rows["train"] is not None:
            files = {split: read_rows(path, self.options) for split, path in rows.items() if path is not None}
            return self.of_files(split_all(files, self.options), folder.find_labels())
        if folder.has("train_texts.txt", "train_raw_texts.txt", "train_labels.txt"):
            return self.of_files(read_texts_labels(folder), folder.find_labels())
        lines = {split: folder.find(*(f"{n}.txt" for n in names)) for split, names in SPLIT_NAMES.items()}
        if lines["train"] is not None:
            if is_fasttext(lines["train"]):
                files = read_fasttext({split: path for split, path in lines.items() if path is not None})
                return self.of_files(files, folder.find_labels(), by_token=True)
            refuse_features(lines["train"])
        files = self._read_others(folder)
        if ALL in files:
            return self.parted(files)
        if "train" in files:
            return self.of_files(files, folder.find_labels())
        shown = ", ".join(sorted(folder.names)[:5]) or "nothing"
        raise InputError(
            f"no training rows in this folder (it has {shown})", expected=_KNOWN, path=folder.path
        )

    def _read_others(self, folder: Folder) -> dict[str, FileColumns]:
        """The splits of a folder of `datasets` or of Annif; none for another folder."""
        shards = huggingface_files(folder.path)
        if shards:
            files = {
                split: with_all_labels(partial(read_shards, paths), self.options)
                for split, paths in shards.items()
            }
            return split_all(files, self.options)
        if documents(folder.path):
            return {ALL: read_documents(folder.path, self.stand_ins)}
        below = {
            split: folder.path / name
            for split, names in SPLIT_NAMES.items()
            for name in names
            if name in folder.names and (folder.path / name).is_dir()
        }
        found = {split: path for split, path in below.items() if documents(path)}
        return {split: read_documents(path, self.stand_ins) for split, path in found.items()}

    def _read_file(self, path: Path) -> dict[str, FileColumns]:
        suffix = suffix_of(path)
        if suffix == ".txt" and is_fasttext(path):
            return read_fasttext({ALL: path})
        if suffix == ".txt":
            refuse_features(path)
            if not is_table(path, self.options):
                expected = "fastText lines, a table with a header, or a folder"
                raise InputError("lines without __label__", expected=expected, path=path)
        elif suffix not in ROW_SUFFIXES:
            expected = f"one of {', '.join(ROW_SUFFIXES)}, .txt (fastText), or a folder"
            raise InputError(f"the suffix {suffix!r}", expected=expected, path=path)
        return split_all({ALL: read_rows(path, self.options)}, self.options)

    def parted(self, files: Mapping[str, FileColumns]) -> Corpus:
        """The corpus of rows that are not split: a share of them become test rows, which a line says."""
        self.is_whole = True
        found, index = self._labels(files, None)
        data = self._datasets(files, index)[ALL]
        share = TEST_SHARE if self.options.test_share is None else self.options.test_share
        if len(data) < 2 or not share:
            return Corpus(data, found.space)
        self.is_parted = True
        train, test = data.split(share, self.options.seed)
        if not len(train):
            problem = f"test_share {share:g} of {len(data)} rows, which leaves none for training"
            raise InputError(problem, expected="a smaller share", path=files[ALL].path)
        self.notes.append(
            f"no test rows: {100 * share:g} % of the rows, drawn by seed {self.options.seed}, are kept for "
            "testing; --test-share 0 keeps all for training"
        )
        return Corpus(train, found.space, test=test)

    def of_files(
        self, files: Mapping[str, FileColumns], beside: Path | None = None, by_token: bool = False
    ) -> Corpus:
        """The corpus of splits over the labels in a file `beside` them, or over all that they refer to."""
        found, index = self._labels(files, beside, by_token)
        splits = self._datasets(files, index)
        weighted = {split: replace(data, label_weights=found.made_weights) for split, data in splits.items()}
        return Corpus.of_splits(found.space, weighted)

    def _labels(
        self, files: Mapping[str, FileColumns], beside: Path | None, by_token: bool = False
    ) -> tuple[LabelsFile, LabelIndex]:
        """The labels that the caller gives, of the vocabulary, of the labels file, or of the rows."""
        sources = {
            "label_names or label_texts" if self.given.width is None else "a matrix of labels": self.given,
            "--vocabulary": self.options.vocabulary,
            beside.name if beside is not None else "": beside,
        }
        asked = [name for name, source in sources.items() if source]
        if len(asked) > 1:
            where = None if beside is None else beside.parent
            raise InputError(" and ".join(reversed(asked)), expected="one of them", path=where)
        if self.given:
            space, notes = self.given.space(files, self.options.strict)
            self.notes += notes
            integers = all(some.unique is None for file in files.values() for some in file.references())
            by_position = bool(self.given.names) and integers
            return LabelsFile(space), LabelIndex(space, by_position=by_position, by_token=by_token)
        if not self.options.vocabulary:
            found = LabelsFile(space_of(files)) if beside is None else read_labels(beside)
            return found, LabelIndex(found.space, beside, by_token=by_token)
        path = Path(self.options.vocabulary)
        found = read_vocabulary(self.stand_ins.get(path, path), self.options.language)
        if not self.options.strict:
            found, notes = with_missing(found, files, path)
            self.notes += notes
        return found, LabelIndex(found.space, path, by_token=by_token)

    def _datasets(self, files: Mapping[str, FileColumns], index: LabelIndex) -> dict[str, Dataset]:
        """The rows of each split; says how they were understood and what was odd, or refuses that."""
        resolved = {split: dataset_of(columns, index) for split, columns in files.items()}
        if self.options.strict:
            for split, found in resolved.items():
                _refuse(files[split], found.odd)
        self.notes += column_notes(files, self.options)
        self.notes += odd_notes({split: found.odd for split, found in resolved.items()})
        return {split: found.data for split, found in resolved.items()}


def _columns(names: str | Sequence[str]) -> tuple[str, ...]:
    return columns_in(names) if isinstance(names, str) else tuple(names)


def _row_names(stems: Sequence[str]) -> list[str]:
    return [stem + suffix for stem in stems for suffix in ROW_SUFFIXES]


def _refuse(file: FileColumns, odd: Sequence[Oddity]) -> None:
    """InputError at the first odd row."""
    first = min(odd, key=lambda each: each.row, default=None)
    if first is not None:
        raise file.error(first.row, first.what, "nothing odd, as --strict was given")
