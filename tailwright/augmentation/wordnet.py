"""WordNet: a new row for each source, in which synonyms replace a few words."""

from __future__ import annotations

from dataclasses import dataclass

from tailwright.augmentation import AugmenterCard, RowAugmenter, RowSettings, augmenters
from tailwright.augmentation.shared.edits import EditSettings, edited_rows, synonyms_digest
from tailwright.augmentation.shared.sources import WEIGHT, SourceSettings
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.settings import setting

OPERATIONS = ("synonyms",)


@dataclass(frozen=True)
class WordNetSettings(RowSettings):
    """Which rows are edited, and how."""

    weight: float = setting(0.5, WEIGHT, least=0, most=1_000_000)
    selection: SourceSettings = setting(SourceSettings(), "which rows are edited")
    edits: EditSettings = setting(EditSettings(), "how they are edited")


@augmenters.register
class WordNetSynonyms(RowAugmenter):
    """New rows: up to `outputs` for each source, `origin.rows` being the source's row.

    A share of the words, none of them a stop word, are each replaced by one of their synonyms in WordNet,
    whatever the sense. It is the first of the four operations of `eda`.
    """

    card = AugmenterCard(
        name="wordnet",
        summary="synonyms from WordNet for a few words",
        door="rows",
        keeps_targets=True,
        paper="On Data Augmentation for Extreme Multi-label Classification",
        needs=("WordNet",),
    )
    Settings = WordNetSettings
    probes = ({}, {"rows": "all"})

    def depends_on(self) -> tuple[str, ...]:
        return synonyms_digest(OPERATIONS, self.settings.edits)

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        s: WordNetSettings = self.settings
        return edited_rows(corpus, "wordnet", OPERATIONS, s.selection, s.edits, seed=seed, workers=workers)
