"""WordNet: a new row for each source, in which synonyms stand for a few words."""

from __future__ import annotations

from collections.abc import Sequence

from tailwright.augmentation import AugmenterCard, augmenters
from tailwright.augmentation._edits import EditSettings, EditsWords


@augmenters.register
class WordNet(EditsWords):
    """New rows: up to `outputs` for each source, `origin.rows` being the source's row.

    A share of the words, none of them a stop word, are each replaced by one of the synonyms that WordNet has
    for them, all senses being as good. It is the first of the four operations of `eda`.
    """

    card = AugmenterCard(
        name="wordnet",
        summary="synonyms from WordNet for a few words",
        door="rows",
        keeps_targets=True,
        paper="On Data Augmentation for Extreme Multi-label Classification",
        needs=("WordNet",),
    )
    Settings = EditSettings
    probes = ({}, {"rows": "all"})

    def operations(self) -> Sequence[str]:
        return ("synonyms",)
