"""The labels of a file that a run is to have too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tailwright.data.corpus import LabelSpace
from tailwright.data.formats.columns import positions
from tailwright.data.read import read_label_file
from tailwright.data.relabelling import refuse_known
from tailwright.errors import InputError


def labels_to_add(path: str | Path, known: LabelSpace) -> tuple[LabelSpace, tuple[str, ...]]:
    """The labels of a file that are to stand behind `known`, and what there is to say about the file.

    Without ids of their own they are numbered on if `known` is numbered, else their names are their ids.
    """
    found, notes = read_label_file(path)
    more = found.space
    if not found.has_ids:
        numbered = known.ids.equals(positions(len(known)))
        numbers = positions(len(known) + len(more)).slice(len(known))
        try:
            more = replace(more, ids=numbers if numbered else more.names)
        except ValueError:
            raise InputError("a label a second time", expected="each name once", path=path) from None
    if found.made_weights is not None:
        notes = (*notes, "made_weight counts in training alone and is not used here")
    try:
        refuse_known(known, more)
    except InputError as error:
        raise InputError(error.found, expected=error.expected, path=path) from None
    return more, notes
