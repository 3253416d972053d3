"""Two formats of text lines with label tokens, which have no spaces; a labels file beside them is used.

1. `train_texts.txt` and `train_labels.txt`: a text per line, and its tokens separated by spaces.
   `train_raw_texts.txt` is preferred if it exists: it holds the original words, the other one those that a
   tokeniser left.
2. fastText's lines, `__label__shoes __label__red a pair of red shoes`: a token with the prefix is a label
wherever it
   stands; the rest of the line is the text. A name with spaces is written with `_` in their place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import no_strings
from tailwright.data.formats.cells import split_on_spaces
from tailwright.data.formats.columns import FileColumns, is_integer
from tailwright.data.formats.outgoing import has_own_names, label_lists, lost, one_line, write_lines
from tailwright.data.formats.resolve import joined
from tailwright.data.formats.source import SPLIT_NAMES, Folder, numbered_lines, text_lines
from tailwright.errors import InputError

PREFIX = "__label__"
_LINE = rf"^(?s)(?P<labels>(?:{PREFIX}\S+(?:\s|$))*)(?P<text>.*)$"
_INSIDE = re.compile(rf"(?:^|[ \t\n\f\r]){PREFIX}([^ \t\n\f\r]+)")
_LOOKS_LABELLED = rf"(^|\s){PREFIX}(\S)"


def read_texts_labels(folder: Folder) -> dict[str, FileColumns]:
    """The splits of a folder with `train_texts.txt`."""
    files: dict[str, FileColumns] = {}
    for split, names in SPLIT_NAMES.items():
        texts_path = folder.find(*(f"{name}_raw_texts.txt" for name in names)) or folder.find(
            *(f"{name}_texts.txt" for name in names)
        )
        labels_path = folder.find(*(f"{name}_labels.txt" for name in names))
        if texts_path is None and labels_path is None:
            continue
        if texts_path is None or labels_path is None:
            missing = f"{split}_texts.txt" if texts_path is None else f"{split}_labels.txt"
            raise InputError(f"no {missing}", expected="texts and labels of each split", path=folder.path)
        texts, labels = text_lines(texts_path), text_lines(labels_path)
        if len(texts) != len(labels):
            expected = f"{len(texts)} as in {texts_path.name}"
            raise InputError(f"{len(labels)} lines", expected=expected, path=labels_path)
        files[split] = FileColumns(labels_path, texts, labels)
    return split_on_spaces(files)


def write_texts_labels(corpus: Corpus, folder: Path) -> tuple[str, ...]:
    """Write texts and label tokens of each split, and the texts of the labels as `labels.txt`."""
    tokens = label_tokens(corpus.labels)
    for split, data in corpus.splits().items():
        write_lines(folder / f"{split}_texts.txt", one_line(data.texts).to_pylist())
        write_lines(folder / f"{split}_labels.txt", map(" ".join, label_lists(data.targets, tokens)))
    write_label_texts(corpus.labels, folder)
    return lost(corpus)


def label_tokens(space: LabelSpace) -> list[str]:
    """A token without spaces for each label: its text if all texts are such tokens, else its position."""
    texts: list[str] = space.texts.to_pylist()
    good = not any(map(str.isspace, "".join(texts)))
    return texts if good and _are_tokens(texts, space) else [str(column) for column in range(len(space))]


def _are_tokens(texts: list[str], space: LabelSpace) -> bool:
    """Whether texts can stand for their labels: each its own, and none empty or a number."""
    own = not has_own_names(space) and len(set(texts)) == len(texts)
    return own and all(text and not is_integer(text) for text in texts)


def write_label_texts(space: LabelSpace, folder: Path) -> None:
    """`labels.txt`: the text of each label on a line."""
    if len(space):
        write_lines(folder / "labels.txt", one_line(space.texts).to_pylist())


def read_fasttext(paths: Mapping[str, Path]) -> dict[str, FileColumns]:
    """The splits in the given files."""
    return split_on_spaces({split: _read(path) for split, path in paths.items()})


def is_fasttext(path: Path) -> bool:
    """Whether any line has a label."""
    return any(PREFIX in text and _INSIDE.search(text) for _, text in numbered_lines(path))


def _read(path: Path) -> FileColumns:
    fields = pc.extract_regex(text_lines(path), _LINE)
    labels = pc.replace_substring_regex(fields.field("labels"), rf"(^|\s){PREFIX}", r"\1")
    texts = fields.field("text")
    inside = pc.match_substring_regex(texts, _LOOKS_LABELLED)
    if pc.any(inside).as_py():
        found = [" " + " ".join(_INSIDE.findall(text)) for text in texts.filter(inside).to_pylist()]
        more = pc.replace_with_mask(no_strings(len(texts)), inside, pa.array(found, pa.large_string()))
        labels = pc.binary_join_element_wise(labels, more, pa.scalar("", pa.large_string()))
        texts = pc.replace_substring_regex(texts, rf"(^|\s){PREFIX}\S+", "")
    return FileColumns(path, texts, labels)


def write_fasttext(corpus: Corpus, folder: Path) -> tuple[str, ...]:
    """Write lines of labels and text, and the texts of the labels as `labels.txt`."""
    if not corpus.train.targets.nnz:
        expected = "labels, without which lines are not fastText's"
        raise InputError("no training row has a label", expected=expected)
    texts = [joined(text) for text in one_line(corpus.labels.texts).to_pylist()]
    names = texts if _are_tokens(texts, corpus.labels) else label_tokens(corpus.labels)
    tokens = [PREFIX + name for name in names]
    changed = False
    for split, data in corpus.splits().items():
        texts = one_line(data.texts)
        changed = changed or pc.any(pc.match_substring_regex(texts, _LOOKS_LABELLED)).as_py()
        # With a space in it, a word that looks like a label is not mistaken for one.
        texts = pc.replace_substring_regex(texts, _LOOKS_LABELLED, r"\1__label __\2")
        lines = zip(label_lists(data.targets, tokens), texts.to_pylist(), strict=True)
        write_lines(folder / f"{split}.txt", (" ".join([*labels, text]) for labels, text in lines))
    write_label_texts(corpus.labels, folder)
    return (*lost(corpus), "__label__ in a text") if changed else lost(corpus)
