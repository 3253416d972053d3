"""EDA: a new row for each source, by synonyms, by insertions, by swaps or by deletions of its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailwright.augmentation import AugmenterCard, augmenters
from tailwright.augmentation._edits import OPERATIONS, EditSettings, EditsWords


@dataclass(frozen=True)
class EdaSettings(EditSettings):
    """Which rows are edited, and how.

    | setting | meaning |
    |---|---|
    | `operations` | any of `synonyms`, `insert`, `swap`, `delete`; each new row is made by one of them |
    """

    operations: tuple[str, ...] = tuple(OPERATIONS)

    def __post_init__(self) -> None:
        super().__post_init__()
        known = ", ".join(OPERATIONS)
        if not self.operations:
            raise ValueError(f"operations must be one or more of {known}, got none")
        for operation in self.operations:
            if operation not in OPERATIONS:
                raise ValueError(f"operations must be among {known}, got {operation!r}")
        if len(set(self.operations)) < len(self.operations):
            raise ValueError(f"operations must differ, got {', '.join(self.operations)}")


@augmenters.register
class Eda(EditsWords):
    """New rows: up to `outputs` for each source, `origin.rows` being the source's row.

    | operation | does to a share of the words |
    |---|---|
    | `synonyms` | replaces a word that is no stop word by one of its synonyms in WordNet |
    | `insert` | puts a synonym of some word of the text behind it |
    | `swap` | exchanges it with another word of the text |
    | `delete` | deletes it, but never the last word of a text |

    Where several rows are made of one, their operations are dealt as evenly as can be.
    """

    card = AugmenterCard(
        name="eda",
        summary="edits of a few words: synonyms, insertions, swaps, deletions",
        door="rows",
        keeps_targets=True,
        paper="EDA: Easy Data Augmentation Techniques for Boosting Performance on Text Classification Tasks",
        needs=("WordNet",),
    )
    Settings = EdaSettings
    probes = ({}, {"rows": "all"})

    def operations(self) -> Sequence[str]:
        settings: EdaSettings = self.settings
        return settings.operations
