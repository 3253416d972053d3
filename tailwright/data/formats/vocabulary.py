"""`--vocabulary`: texts of labels from a file of their own: Annif's, SKOS, or any labels file.

Labels of rows that the vocabulary lacks are added to it, so nothing is lost; with `--strict` they are
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.formats.annif import is_vocabulary, read_vocabulary_table
from tailwright.data.formats.columns import FileColumns
from tailwright.data.formats.labels import LabelsFile, read_labels
from tailwright.data.formats.resolve import UNKNOWN, LabelIndex
from tailwright.data.formats.source import LABEL_SUFFIXES, base_name, unreadable
from tailwright.errors import InputError, MissingExtraError, quoted

_SKOS = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".xml": "xml", ".owl": "xml", ".jsonld": "json-ld"}
_NAMESPACE = "http://www.w3.org/2004/02/skos/core#"
_SHOWN = 3


def read_vocabulary(path: Path, language: str) -> LabelsFile:
    """The labels of a vocabulary with their texts in one language, by default in the first that it has."""
    try:
        path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    suffix = Path(base_name(path.name)).suffix.lower()
    if suffix in _SKOS:
        return LabelsFile(_read_skos(path, _SKOS[suffix], language))
    if suffix in (".csv", ".tsv") and is_vocabulary(path):
        return LabelsFile(read_vocabulary_table(path, language))
    if suffix not in LABEL_SUFFIXES:
        expected = f"one of {', '.join((*_SKOS, *LABEL_SUFFIXES))}"
        raise InputError(f"the suffix {suffix!r}", expected=expected, path=path)
    return read_labels(path)


def with_missing(
    found: LabelsFile, files: Mapping[str, FileColumns], path: Path
) -> tuple[LabelsFile, list[str]]:
    """(the labels with those that rows have and the vocabulary lacks, a line that says so)."""
    index = LabelIndex(found.space, path)
    distinct = {ref for file in files.values() for column in file.references() for ref in column.distinct()}
    missing = sorted(
        str(reference).strip()
        for reference in distinct
        if index.column_of(reference) == UNKNOWN and index.column_of_trimmed(reference) == UNKNOWN
        if str(reference) not in index.shared_names
    )
    missing = list(dict.fromkeys(missing))
    if not missing:
        return found, []
    space = found.space
    texts = ["" if "://" in name else name for name in missing]
    joined = LabelSpace(
        pa.concat_arrays([space.ids, arrow_strings(missing)]),
        pa.concat_arrays([space.names, arrow_strings(missing)]),
        pa.concat_arrays([space.texts, arrow_strings(texts)]),
    )
    shown = ", ".join(missing[:_SHOWN]) + (", ..." if len(missing) > _SHOWN else "")
    return LabelsFile(joined), [f"added {len(missing):,} labels that {path.name} does not have: {shown}"]


def _read_skos(path: Path, kind: str, language: str) -> LabelSpace:
    """The concepts of a SKOS vocabulary: a name is the prefLabel, a text that and all altLabels."""
    try:
        import rdflib
    except ImportError as error:
        raise MissingExtraError("rdflib, which reads SKOS,", "skos") from error
    graph = rdflib.Graph()
    try:
        graph.parse(path, format=kind)
    except Exception as error:  # rdflib's parsers raise whatever their format's library raises
        raise InputError(f"no {kind} ({str(error).splitlines()[0]})", expected="SKOS", path=path) from error
    preferred = _literals(graph, rdflib.URIRef(_NAMESPACE + "prefLabel"))
    others = _literals(graph, rdflib.URIRef(_NAMESPACE + "altLabel"))
    languages = sorted({code for _, code, _ in preferred})
    if not preferred:
        raise InputError("no skos:prefLabel", expected="a SKOS vocabulary", path=path)
    if language and language not in languages:
        found = f"no texts in {quoted(language)}"
        raise InputError(found, expected=f"one of {', '.join(map(repr, languages))}", path=path)
    chosen = language or max(languages, key=lambda code: sum(code == other for _, other, _ in preferred))
    names = {uri: text for uri, code, text in sorted(preferred, reverse=True) if code == chosen}
    texts = {uri: [name] for uri, name in names.items()}
    for uri, code, text in sorted(others):
        if code == chosen and uri in texts:
            texts[uri].append(text)
    uris = sorted(names)
    return LabelSpace(
        arrow_strings(uris),
        arrow_strings([names[uri] for uri in uris]),
        arrow_strings([", ".join(texts[uri]) for uri in uris]),
    )


def _literals(graph: Any, predicate: Any) -> list[tuple[str, str, str]]:
    """(URI, language, text) of each literal that a concept has under a predicate."""
    return [(str(uri), str(text.language or ""), str(text)) for uri, text in graph.subject_objects(predicate)]
