"""fastText's lines: `__label__shoes __label__red a pair of red shoes`.

Labels come first, each followed by one space; the rest of the line is the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow.compute as pc

from tailwright.data.corpus import Corpus
from tailwright.data.formats.cells import split_on_spaces
from tailwright.data.formats.columns import FileColumns
from tailwright.data.formats.outgoing import lost, one_line, write_lines
from tailwright.data.formats.source import numbered_lines, text_lines
from tailwright.data.formats.texts_labels import label_tokens, token_lists, write_label_texts
from tailwright.errors import InputError

PREFIX = "__label__"
_LINE = rf"^(?s)(?P<labels>(?:{PREFIX}\S+(?:\s|$))*)(?P<text>.*)$"

_LOOKS_LABELLED = rf"^{PREFIX}\S"


def read_fasttext(paths: Mapping[str, Path]) -> dict[str, FileColumns]:
    """The splits in the given files."""
    return split_on_spaces({split: _read(path) for split, path in paths.items()})


def is_fasttext(path: Path) -> bool:
    """Whether any line starts with a label."""
    return any(text.startswith(PREFIX) for _, text in numbered_lines(path))


def _read(path: Path) -> FileColumns:
    fields = pc.extract_regex(text_lines(path), _LINE)
    labels = pc.replace_substring_regex(fields.field("labels"), rf"(^|\s){PREFIX}", r"\1")
    return FileColumns(path, fields.field("text"), labels, lambda row: row + 1)


def write_fasttext(corpus: Corpus, folder: Path) -> tuple[str, ...]:
    """Write lines of labels and text, and the texts of the labels as `labels.txt`."""
    if not corpus.train.targets.nnz:
        raise InputError(
            "no training row has a label", expected="labels, without which lines are not fastText's"
        )
    tokens = [PREFIX + token for token in label_tokens(corpus.labels)]
    shielded = False
    for split, data in corpus.splits().items():
        texts = one_line(data.texts)
        shielded = shielded or pc.any(pc.match_substring_regex(texts, _LOOKS_LABELLED)).as_py()
        # With a space before it, a text that starts like a label is not mistaken for one.
        texts = pc.replace_substring_regex(texts, _LOOKS_LABELLED, r" \0")
        lines = zip(token_lists(data, tokens), texts.to_pylist(), strict=True)
        write_lines(folder / f"{split}.txt", (" ".join([*labels, text]) for labels, text in lines))
    write_label_texts(corpus.labels, folder)
    return (*lost(corpus), "__label__ at the start of a text") if shielded else lost(corpus)
