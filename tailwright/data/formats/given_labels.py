"""`label_names` and `label_texts`: labels that a caller gives beside the rows.

Names are all the labels there are, in this order; an integer in a row is then a position. Texts belong to
labels by name or by id. Without names they are a vocabulary, to which labels of rows are added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.formats.columns import FileColumns, Reference
from tailwright.data.formats.labels import LabelsFile
from tailwright.data.formats.resolve import UNKNOWN, LabelIndex
from tailwright.data.formats.vocabulary import with_missing
from tailwright.errors import InputError, quoted


@dataclass(frozen=True)
class GivenLabels:
    """The labels that the arguments of a call give; false if they give none."""

    names: tuple[str, ...] = ()
    texts: Mapping[Reference, str] = field(default_factory=dict)
    width: int | None = None  # of a matrix of labels

    @staticmethod
    def of(names: Sequence[str], texts: Mapping[Any, str] | None) -> GivenLabels:
        """The checked arguments."""
        if isinstance(names, str):
            raise InputError(f"label_names is {quoted(names)}", expected="a list of names")
        counted = Counter(str(name) for name in names)
        twice = next((name for name, count in counted.items() if count > 1), None)
        if twice is not None:
            raise InputError(f"label_names has {quoted(twice)} twice", expected="each name once")
        if texts is not None and not isinstance(texts, Mapping):
            raise InputError(f"label_texts is {quoted(texts)}", expected="a dict of texts by label name")
        for label, text in (texts or {}).items():
            if not isinstance(text, str):
                raise InputError(f"label_texts of {quoted(label)} is {quoted(text)}", expected="a string")
        keyed = {
            label if isinstance(label, str) else int(label): text for label, text in (texts or {}).items()
        }
        return GivenLabels(tuple(counted), keyed)

    def __bool__(self) -> bool:
        return bool(self.names or self.texts or self.width is not None)

    def space(self, files: Mapping[str, FileColumns], strict: bool) -> tuple[LabelSpace, list[str]]:
        """(the labels, what there is to say); `strict` adds none to those that only have texts."""
        if self.width is None and not self.names:
            found = LabelsFile(self._vocabulary())
            found, notes = (found, []) if strict else with_missing(found, files, Path("label_texts"))
            return found.space, notes
        if self.names and self.width not in (None, len(self.names)):
            found_names = f"{len(self.names):,} label_names for a matrix of {self.width:,} labels"
            raise InputError(f"found {found_names}", expected="as many")
        named = LabelSpace(arrow_strings(self.names)) if self.names else LabelSpace.numbered(self.width or 0)
        index, texts = LabelIndex(named), named.texts.to_pylist()
        for label, text in self.texts.items():
            column = index.column_of(label)
            if column == UNKNOWN:
                problem, expected = index.unknown(label)
                raise InputError(f"label_texts has {problem}", expected=expected)
            texts[column] = text
        return replace(named, texts=arrow_strings(texts)), []

    def _vocabulary(self) -> LabelSpace:
        """The labels that have texts; one that is given by its id is shown by its text."""
        names = [label if isinstance(label, str) else text for label, text in self.texts.items()]
        ids = [str(label) for label in self.texts]
        return LabelSpace(arrow_strings(ids), arrow_strings(names), arrow_strings(list(self.texts.values())))
