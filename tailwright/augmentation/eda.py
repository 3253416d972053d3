"""EDA: a new row for each source, by synonyms, insertions, swaps or deletions of its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.augmentation import AugmenterCard, RowAugmenter, RowSettings, augmenters
from tailwright.augmentation.shared.edits import EditSettings, edited_rows, synonyms_digest
from tailwright.augmentation.shared.sources import WEIGHT, SourceSettings
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.settings import setting

Operation = Literal["synonyms", "insert", "swap", "delete"]


@dataclass(frozen=True)
class EdaSettings(RowSettings):
    """Which rows are edited, and how."""

    weight: float = setting(0.5, WEIGHT, least=0, most=1_000_000)
    operations: tuple[Operation, ...] = setting(
        ("synonyms", "insert", "swap", "delete"), "each new row is made by one of these operations"
    )
    selection: SourceSettings = setting(SourceSettings(), "which rows are edited")
    edits: EditSettings = setting(EditSettings(), "how they are edited")

    def check(self) -> None:
        if not self.operations:
            raise ValueError("operations must be one or more of synonyms, insert, swap, delete, got none")
        if len(set(self.operations)) < len(self.operations):
            raise ValueError(f"operations must differ, got {', '.join(self.operations)}")


@augmenters.register
class Eda(RowAugmenter):
    """New rows: up to `outputs` for each source, `origin.rows` being the source's row.

    | operation | does to a share of the words |
    |---|---|
    | `synonyms` | replaces a word that is no stop word by one of its synonyms in WordNet |
    | `insert` | inserts a synonym of some word of the text after the word |
    | `swap` | swaps it with another word of the text |
    | `delete` | deletes it, but never the last word of a text |

    If a source has several new rows, the operations are dealt to them as evenly as possible.
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

    def depends_on(self) -> tuple[str, ...]:
        return synonyms_digest(self.settings.operations, self.settings.edits)

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        s: EdaSettings = self.settings
        return edited_rows(corpus, "eda", s.operations, s.selection, s.edits, seed=seed, workers=workers)
