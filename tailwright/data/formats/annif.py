"""Annif's folders of documents, and its vocabularies.

A document is a `.txt` file; beside it, `.key` has the name of a subject on each line, or `.tsv` a URI and a
name: `<http://example.org/1><TAB>shoes`. Annif's corpora in one file are tables (`delimited.py`).

A vocabulary is a tsv of the same lines without a header, or a csv with the columns `uri` and `label_en`,
`label_fi`, ... for each language.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.formats.columns import FileColumns, Reference, ReferenceBuilder
from tailwright.data.formats.limits import refuse_special
from tailwright.data.formats.source import empty_file, numbered_lines, read_bytes, refuse_unless_utf8
from tailwright.errors import InputError, quoted

_SUBJECT_SUFFIXES = (".key", ".tsv")
_LINE = re.compile(r"<([^<>\s]+)>\t([^\t]*)(\t.*)?")
_LABEL_COLUMN = re.compile(r"label_([\w-]+)")


def documents(folder: Path) -> list[tuple[Path, Path]]:
    """(text, subjects) of each document in a folder, by name."""
    names = {path.name for path in folder.iterdir()}
    texts = (folder / name for name in sorted(names) if name.endswith(".txt"))
    pairs = [(text, text.with_suffix(suffix)) for text in texts for suffix in _SUBJECT_SUFFIXES]
    return [(text, subjects) for text, subjects in pairs if subjects.name in names]


def read_documents(folder: Path, stand_ins: Mapping[Path, Path]) -> FileColumns:
    """The documents of a folder, or their `stand_ins`, as rows; a file's stem is the row's id."""
    texts: list[str] = []
    labels = ReferenceBuilder()
    pairs = documents(folder)
    for text, subjects in pairs:
        read = stand_ins.get(text, text)
        refuse_special(read)
        data = read.read_bytes()
        if data:
            refuse_unless_utf8(data, read)
        texts.append(data.decode("utf-8-sig").strip())
        labels.add_row(_subjects(stand_ins.get(subjects, subjects)))
    ids = arrow_strings([text.stem for text, _ in pairs])
    return FileColumns(folder, arrow_strings(texts), labels.build(), ids=ids)


def _subjects(path: Path) -> Iterator[Reference]:
    if not path.stat().st_size:
        return
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        match = _LINE.fullmatch(text)
        if match is None and path.suffix == ".tsv":
            raise InputError(quoted(text), expected="<uri>, a tab and a name", path=path, line=line)
        yield text.strip() if match is None else match[1]


def is_vocabulary(path: Path) -> bool:
    """Whether a tsv or csv begins as Annif's vocabularies do."""
    first = next((text for _, text in numbered_lines(path) if text), "")
    return _LINE.fullmatch(first) is not None or bool(_languages(next(csv.reader([first]))))


def read_vocabulary_table(path: Path, language: str) -> LabelSpace:
    """The subjects of a vocabulary: URIs are ids, names are names and texts."""
    first = next((text for _, text in numbered_lines(path) if text), None)
    if first is None:
        raise empty_file(path)
    subjects = dict(_lines(path) if _LINE.fullmatch(first) else _records(path, language))
    return LabelSpace(arrow_strings(list(subjects)), arrow_strings(list(subjects.values())))


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise InputError(quoted(text), expected="<uri>, a tab and a name", path=path, line=line)
        yield match[1], match[2].strip()


def _records(path: Path, language: str) -> Iterator[tuple[str, str]]:
    data = read_bytes(path)
    refuse_unless_utf8(data, path)
    reader = csv.DictReader(io.StringIO(data.decode(), newline=""))
    languages = _languages(list(reader.fieldnames or []))
    if language and language not in languages:
        found = f"no texts in {quoted(language)}"
        raise InputError(found, expected=f"one of {', '.join(languages)}", path=path, line=1)
    for record in reader:
        uri = (record["uri"] or "").strip().removeprefix("<").removesuffix(">")
        if not uri:
            raise InputError("no uri", expected="one for each subject", path=path, line=reader.line_num)
        yield uri, (record[f"label_{language or languages[0]}"] or "").strip()


def _languages(header: list[str]) -> list[str]:
    """The languages of a csv vocabulary, by its header; none for another table."""
    matches = [_LABEL_COLUMN.fullmatch(name) for name in header] if "uri" in header else []
    return [match[1] for match in matches if match is not None]
