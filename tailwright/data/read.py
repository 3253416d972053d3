"""`read`: a corpus from a user's files, recognised by their names as `docs/data.md` lists them.

If a folder has the files of several formats, the first that `_read_folder` looks for counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.formats.annif import documents, read_documents
from tailwright.data.formats.arrow_files import ALL, huggingface_files, read_shards
from tailwright.data.formats.cells import split_all
from tailwright.data.formats.columns import FileColumns, Oddity
from tailwright.data.formats.delimited import is_table
from tailwright.data.formats.labels import LabelsFile, read_labels
from tailwright.data.formats.notes import NO_HEADER, column_notes, odd_notes
from tailwright.data.formats.options import SQLITE, STDIN, ReadOptions, columns_in
from tailwright.data.formats.resolve import LabelIndex, dataset_of, space_of
from tailwright.data.formats.row_files import ROW_SUFFIXES, read_rows, suffix_of, with_all_labels
from tailwright.data.formats.source import SPLIT_NAMES, Folder, NotUtf8Error, unreadable
from tailwright.data.formats.standins import STANDARD_INPUT, StandIns
from tailwright.data.formats.token_lines import is_fasttext, read_fasttext, read_texts_labels
from tailwright.data.formats.vocabulary import read_vocabulary, with_missing
from tailwright.data.formats.xc import read_xc, read_xc_json, refuse_features, with_exclusions
from tailwright.errors import InputError

Found = TypeVar("Found")

TEST_SHARE = 0.2

_KNOWN = (
    "train.jsonl, .json, .csv, .tsv, .parquet, .xlsx or .arrow; trn.json and lbl.json; trn_X_Y.txt and "
    "trn_X.txt; train_texts.txt and train_labels.txt; train.txt with __label__ (all may end in .gz or .zst), "
    "a folder of `datasets` or of Annif; or the path of one table"
)


def read(
    path: str | Path,
    *,
    text: str | Sequence[str] = (),
    labels: str | Sequence[str] = (),
    separator: str = "",
    id: str = "",
    weight: str = "",
    vocabulary: str | Path = "",
    language: str = "",
    strict: bool = False,
    seed: int = 0,
    test_share: float | None = None,
) -> Corpus:
    """The corpus in a folder or in one file; a one-line `InputError` says what is wrong.

    `text` and `labels` (each a list of columns, or their names with commas between, to be joined), `id` and
    `weight` name the columns of a table, or number those of one without a header; what is not named is found
    by its usual names. `separator` stands between the labels of a cell. `vocabulary` is a file with the texts
    of the labels, of which `language` chooses some.
    `corpus.notes` says what was taken, what was left and what was mended; with `strict`, odd rows are refused
    instead.

    Of a table that is not split into training and test rows, `seed` draws a `test_share` of the rows for
    testing, a fifth unless it is given; 0 keeps all rows for training.

    >>> read("shop.csv", text=["title", "description"], labels="tags", separator="|")    # doctest: +SKIP
    """
    given = ReadOptions(
        *(_columns(text), _columns(labels), separator, id, weight, "", str(vocabulary), language),
        strict=strict,
        seed=seed,
        test_share=test_share,
    )
    place, options = given.of_path(str(path))
    reading = _Reading(options)
    corpus = reading.read(place, reading.corpus)
    if not reading.is_parted:
        options = replace(options, seed=0)  # it drew nothing
    if not reading.is_whole:
        if options.test_share:
            found = f"test_share {options.test_share:g} of rows that are split already"
            raise InputError(found, expected="one table", path=place)
        options = replace(options, test_share=None)
    return replace(corpus, source=_source(place, options), notes=tuple(reading.notes))


class TableTexts(NamedTuple):
    """The texts of a table, their ids if it has some, and what reading has to say."""

    texts: pa.LargeStringArray
    ids: pa.LargeStringArray | None
    notes: tuple[str, ...]


def read_texts(path: str | Path, *, text: str | Sequence[str] = (), id: str = "") -> TableTexts:
    """The texts of a table that is to be labelled; labels are not looked for, and nothing is split."""
    place, options = ReadOptions(_columns(text), id=id).of_path(str(path))
    reading = _Reading(replace(options, labelled=False))
    columns = reading.read(place, reading.texts)
    return TableTexts(columns.texts, columns.ids, tuple(reading.notes))


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
    notes: list[str] = field(default_factory=list)
    is_whole: bool = False  # whether the files do not say which rows are for testing
    is_parted: bool = False  # whether test rows were drawn
    stand_ins: Mapping[Path, Path] = field(default_factory=dict)

    def read(self, place: str, reader: Callable[[Path], Found]) -> Found:
        """What a reader finds at a place; files that are not UTF-8 are read again by their stand-ins."""
        with tempfile.TemporaryDirectory(prefix="tailwright-") as scratch:
            stand_ins = StandIns(Path(scratch))
            self.stand_ins = stand_ins.files
            path = Path(place.removeprefix(SQLITE))
            if place == STDIN:
                path = STANDARD_INPUT
                stand_ins.add_standard_input()
            found = None
            while found is None:
                try:
                    found = reader(path)
                except NotUtf8Error as error:  # noqa: PERF203 (once for each such file)
                    self.notes.clear()
                    stand_ins.decode(error)
                except InputError as error:
                    raise stand_ins.told(error) from error
            self.notes[:0] = stand_ins.notes
            return found

    def texts(self, path: Path) -> FileColumns:
        """The rows of a table, whatever their labels."""
        path = self.stand_ins.get(path, path)
        try:
            path.stat()
        except OSError as error:
            raise unreadable(path, error) from error
        columns = read_rows(path, self.options)
        fields = columns.fields
        parts = [] if fields.has_header else [NO_HEADER]
        parts += [f"text = {' + '.join(fields.texts)}", *([f"id = {fields.id}"] if fields.id else [])]
        self.notes.append("; ".join(parts))
        return columns

    def corpus(self, path: Path) -> Corpus:
        """The corpus in a folder or in one file."""
        try:
            if path.is_dir():
                return self._read_folder(Folder.at(path, self.stand_ins))
            path = self.stand_ins.get(path, path)
            path.stat()
        except OSError as error:
            raise unreadable(path, error) from error
        return self._parted(self._read_file(path))

    def _read_folder(self, folder: Folder) -> Corpus:
        if folder.has("trn.json", "tst.json"):
            files, index = read_xc_json(folder, self.options)
            return Corpus.of_splits(index.space, with_exclusions(folder, self._datasets(files, index)))
        if folder.has("trn_X_Y.txt", "tst_X_Y.txt"):
            return read_xc(folder)
        rows = {split: folder.find(*_row_names(names)) for split, names in SPLIT_NAMES.items()}
        if rows["train"] is not None:
            files = {split: read_rows(path, self.options) for split, path in rows.items() if path is not None}
            return self._corpus(split_all(files, self.options), folder)
        if folder.has("train_texts.txt", "train_raw_texts.txt", "train_labels.txt"):
            return self._corpus(read_texts_labels(folder), folder)
        lines = {split: folder.find(*(f"{n}.txt" for n in names)) for split, names in SPLIT_NAMES.items()}
        if lines["train"] is not None:
            if is_fasttext(lines["train"]):
                files = read_fasttext({split: path for split, path in lines.items() if path is not None})
                return self._corpus(files, folder, by_token=True)
            refuse_features(lines["train"])
        files = self._read_others(folder)
        if ALL in files:
            return self._parted(files)
        if "train" in files:
            return self._corpus(files, folder)
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

    def _parted(self, files: Mapping[str, FileColumns]) -> Corpus:
        """The corpus of rows that are not split: a share of them become test rows, which a line says."""
        self.is_whole = True
        found, path = self._labels(files, None)
        data = self._datasets(files, LabelIndex(found.space, path))[ALL]
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

    def _corpus(self, files: Mapping[str, FileColumns], folder: Folder, by_token: bool = False) -> Corpus:
        """The corpus of files over the labels that lie beside them, or over all that they refer to."""
        found, path = self._labels(files, folder.find_labels())
        splits = self._datasets(files, LabelIndex(found.space, path, by_token=by_token))
        weighted = {split: replace(data, label_weights=found.made_weights) for split, data in splits.items()}
        return Corpus.of_splits(found.space, weighted)

    def _labels(
        self, files: Mapping[str, FileColumns], beside: Path | None
    ) -> tuple[LabelsFile, Path | None]:
        """(the labels, their file): of the vocabulary, of the labels file, or of the rows."""
        if not self.options.vocabulary:
            return (LabelsFile(space_of(files)) if beside is None else read_labels(beside)), beside
        if beside is not None:
            raise InputError(f"{beside.name} and --vocabulary", expected="one of them", path=beside.parent)
        path = Path(self.options.vocabulary)
        found = read_vocabulary(self.stand_ins.get(path, path), self.options.language)
        if not self.options.strict:
            found, notes = with_missing(found, files, path)
            self.notes += notes
        return found, path

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
