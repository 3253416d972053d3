"""The label that a user means: by its id or, if there is none, by its name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property

from tailwright.data.corpus import LabelSpace
from tailwright.errors import InputError, quoted


@dataclass(frozen=True, eq=False)
class LabelLookup:
    """Finds labels by id or name.

    >>> lookup = LabelLookup(LabelSpace(["a", "b"], ["red shoes", "hats"]))
    >>> lookup.column_of("b"), lookup.column_of("red shoes"), "hat" in lookup
    (1, 0, False)
    """

    labels: LabelSpace

    def __contains__(self, asked: str) -> bool:
        return asked in self.labels.index_of_id or asked in self._columns_of_name

    def column_of(self, asked: str) -> int:
        """The column of a label; an InputError for a name of none or of several."""
        labels = self.labels
        if asked in labels.index_of_id:
            return labels.index_of_id[asked]
        columns = self._columns_of_name.get(asked, [])
        if len(columns) == 1:
            return columns[0]
        if columns:
            ids = ", ".join(labels.ids[column].as_py() for column in columns[:5])
            more = ", ..." if len(columns) > 5 else ""
            raise InputError(
                f"{len(columns)} labels have the name {quoted(asked)}", expected=f"an id: {ids}{more}"
            )
        known = {name.casefold(): name for name in [*labels.index_of_id, *self._columns_of_name]}
        # People type the beginning of a name; the shortest name that starts so adds the least to it.
        longer = sorted((name for name in known if asked and name.startswith(asked.casefold())), key=len)
        near = longer or difflib.get_close_matches(asked.casefold(), known, n=1)
        hint = f"; did you mean {quoted(known[near[0]])}?" if near else ""
        raise InputError(f"no label has the id or name {quoted(asked)}{hint}")

    @cached_property
    def _columns_of_name(self) -> dict[str, list[int]]:
        columns: dict[str, list[int]] = {}
        for column, name in enumerate(self.labels.names.to_pylist()):
            columns.setdefault(name, []).append(column)
        return columns
