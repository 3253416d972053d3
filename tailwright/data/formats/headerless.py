"""Tables without a header: the columns are called by their numbers, 1, 2, 3, ...

If all columns that a user names are numbers (`--text 1 --labels 2`), and the first row does not hold the
usual names of columns, that row is data. If none is named, a table of two columns is understood where only
one reading fits: labels of the first row occur again below it, as the name of a column would not, and the
other column, the text, has more words and hardly repeats itself.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tailwright.data.formats.cells import DELIMITERS
from tailwright.data.formats.limits import cells_of_any_size
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.senses import is_understood, wishes
from tailwright.data.formats.source import numbered_lines

_SAMPLE = 1000  # rows that show what the columns are
_MORE_WORDS = 1.5  # how many times the words of a label a text has on average
_DISTINCT = 0.5  # the share of the texts that must be distinct


class Headerless(NamedTuple):
    """A table without a header: its separator, its columns by number, and what they are."""

    separator: str
    names: list[str]
    options: ReadOptions


def headerless(path: Path, marks: Sequence[str], options: ReadOptions) -> Headerless | None:
    """How the table is read, or None if it may have a header; its separator is one of `marks`."""
    named = wishes(options)
    samples = {mark: rows for mark in marks if (rows := _regular_rows(path, mark))}
    if named and all(name.isdecimal() for name in named):
        plain = replace(options, text=(), labels=(), id="", weight="")
        fitting = [mark for mark, rows in samples.items() if not is_understood(rows[0], plain, path)]
        if len(fitting) != len(samples) or not fitting:
            return None
        mark = max(fitting, key=lambda mark: len(samples[mark][0]))
        return Headerless(mark, _numbers(samples[mark][0]), options)
    if named or not options.labelled:
        return None
    found = [
        Headerless(mark, ["1", "2"], replace(options, text=(str(text + 1),), labels=(str(labels + 1),)))
        for mark, rows in samples.items()
        for text, labels in ((0, 1), (1, 0))
        if len(rows[0]) == 2
        and _are_text_and_labels([row[text] for row in rows], [row[labels] for row in rows])
    ]
    return found[0] if len(found) == 1 else None


def _numbers(row: Sequence[str]) -> list[str]:
    return [str(place) for place, _ in enumerate(row, 1)]


def _regular_rows(path: Path, mark: str) -> list[list[str]]:
    """The first rows, if all of them have the same number of cells and more than one; else none."""
    lines = (text for _, text in numbered_lines(path))
    try:
        with cells_of_any_size():
            rows = [row for row in islice(csv.reader(lines, delimiter=mark, strict=True), _SAMPLE) if row]
    except csv.Error:
        return []
    widths = {len(row) for row in rows}
    return rows if len(widths) == 1 and min(widths) > 1 else []


def _are_text_and_labels(texts: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether one column is the text and the other has its labels, the first row included.

    >>> _are_text_and_labels(["a red hat", "two blue shoes", "a felt hat"], ["hats", "shoes", "hats"])
    True
    >>> _are_text_and_labels(["headline", "two blue shoes", "a felt hat"], ["topic", "shoes", "hats"])
    False
    """
    mark = next((mark for mark in DELIMITERS if any(mark in cell for cell in cells)), "\n")
    first, *others = ([label.strip() for label in cell.split(mark) if label.strip()] for cell in cells)
    below = [label for labels in others for label in labels]
    if texts[0] in texts[1:] or len(set(texts)) < _DISTINCT * len(texts) or not set(first) & set(below):
        return False
    words_of_a_text = sum(len(text.split()) for text in texts) / len(texts)
    words_of_a_label = sum(len(label.split()) for label in below) / len(below)
    return words_of_a_text > _MORE_WORDS * words_of_a_label
