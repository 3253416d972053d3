"""GDA: a language model, tuned on pairs of texts with the same labels, writes a new text for each source.

The paper tunes GPT-2 on pairs of texts that have exactly the same labels, so that it learns to say something
else about the same things, and lets it write for rows that it was not tuned on; the new text gets the labels
of its source. Left out: the choice of settings by BLEU on held-out pairs, which is only logged here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from tailwright.augmentation import AugmenterCard, Forecast, RowAugmenter, RowSettings, augmenters
from tailwright.augmentation.shared.sources import WEIGHT, SourceSettings, rows_made_of
from tailwright.augmentation.shared.text_pairs import PairsAndSources, PairSettings, pairs_and_sources
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.errors import InputError
from tailwright.language.settings import DecodingSettings, TuningSettings
from tailwright.pretrained import identity_of, weights_folder
from tailwright.settings import setting

if TYPE_CHECKING:
    from tailwright.augmentation.shared.generating import Generation

log = logging.getLogger(__name__)

SHARE_IN_THE_PAPER = 0.203  # of the training rows, at every size of its corpus


@dataclass(frozen=True)
class GdaSettings(RowSettings):
    """Which rows are sources, which pairs teach the generator, how it is tuned, and how it writes.

    The paper has `gpt2`, `rows="all"` and its five media labels in `omit_labels`.
    """

    weight: float = setting(0.5, WEIGHT, least=0, most=1_000_000)
    generator: str = setting(
        "smollm2", "what is tuned: smollm2, a hub id such as gpt2, a folder; scratch: a new small model"
    )
    bleu_pairs: int = setting(50, "most held-out pairs that BLEU is computed on, for the log", least=0)
    selection: SourceSettings = setting(SourceSettings(), "which rows are sources")
    pairs: PairSettings = setting(PairSettings(), "which pairs of rows teach the generator")
    tuning: TuningSettings = setting(TuningSettings(), "how the generator is tuned")
    decoding: DecodingSettings = setting(DecodingSettings(), "how the generator is asked for texts")

    def check(self) -> None:
        if not self.generator:
            raise ValueError("generator must be a name, got ''")


@augmenters.register
class Gda(RowAugmenter):
    """New rows: at most one for each source, `origin.rows` being the source's row.

    With too few pairs no row is added, and a warning says so: an untuned model would write anything but what
    the labels say.
    """

    card = AugmenterCard(
        name="gda",
        summary="texts by a language model that is tuned on pairs of rows with the same labels",
        door="rows",
        keeps_targets=True,
        paper="On Data Augmentation for Extreme Multi-label Classification",
        needs=("a language model",),
    )
    Settings = GdaSettings
    probes = ()
    quick: ClassVar[Mapping[str, Any]] = {
        "generator": "scratch",
        "rows": "all",
        "min_words": 0,
        "max_pairs": 16,
        "max_rows": 12,
        "epochs": 1,
        "scratch_width": 16,
        "scratch_layers": 1,
        "scratch_vocabulary": 300,
        "beams": 2,
        "max_new_tokens": 12,
        "bleu_pairs": 0,
    }

    def depends_on(self) -> tuple[str, ...]:
        name = self.settings.generator
        return () if name == "scratch" else (identity_of(weights_folder(name)),)

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        train = corpus.train
        drawn = self._drawn(corpus, seed, workers)
        obstacle = self._obstacle(drawn)
        if obstacle:
            log.warning("gda: no rows are added: %s", obstacle)
            return rows_made_of(train, np.zeros(0, np.int64), pa.array([], pa.large_string()), "gda")
        written = self._generation(train, drawn, seed).texts()
        rows = rows_made_of(train, drawn.sources[written.sources], written.texts, "gda")
        counts = ", ".join(f"{count} {reason}" for reason, count in written.counts.items() if count)
        log.info("gda: %d texts for %d sources; counted: %s", len(rows), len(drawn.sources), counts or "-")
        log.info(
            "gda: new rows are %.1f %% of the training rows (%.1f %% in the paper)",
            100 * len(rows) / max(len(train), 1),
            100 * SHARE_IN_THE_PAPER,
        )
        return rows

    def forecast(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Forecast:
        """Counts pairs and sources, and tries a step of tuning and some texts: a minute or two."""
        drawn = self._drawn(corpus, seed, workers)
        obstacle = self._obstacle(drawn)
        if obstacle:
            return Forecast(len(drawn.sources), 0, 0.0, 0.0, 0.0, (f"no rows are added: {obstacle}",))
        return self._generation(corpus.train, drawn, seed).forecast()

    def _drawn(self, corpus: Corpus, seed: int, workers: int) -> PairsAndSources:
        s: GdaSettings = self.settings
        drawn = pairs_and_sources(corpus, s.selection, s.pairs, seed=seed, workers=workers)
        log.info(
            "gda: %d of %d rows are fit; %d pairs with the same labels (%d more are too similar), %d sources",
            drawn.fit,
            len(corpus.train),
            len(drawn.firsts),
            drawn.too_similar,
            len(drawn.sources),
        )
        if len(corpus.train) and not drawn.fit:
            raise InputError(
                "no row is fit for gda",
                expected="original rows with min_words to max_words words and without omitted labels",
            )
        return drawn

    def _obstacle(self, drawn: PairsAndSources) -> str:
        """Why nothing can be written; empty if it can."""
        if not len(drawn.sources):
            return "no source among the fit rows (rows, tail_below, sources)"
        least = self.settings.pairs.min_pairs
        if len(drawn.firsts) < least:
            return (
                f"{len(drawn.firsts)} pairs of rows with the same labels, where min_pairs={least} are needed "
                "(more rows, sources=all, or other min_words, max_words, omit_labels may give them)"
            )
        return ""

    def _generation(self, train: Dataset, drawn: PairsAndSources, seed: int) -> Generation:
        from tailwright.augmentation.shared.generating import Generation  # torch, transformers

        s: GdaSettings = self.settings
        return Generation(s.generator, train, drawn, s.tuning, s.decoding, bleu_pairs=s.bleu_pairs, seed=seed)
