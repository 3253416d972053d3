"""GDA: a language model, tuned on pairs of texts with the same labels, writes a new text for each source.

The paper tunes GPT-2 on pairs of texts that have exactly the same labels, so that it learns to say something
else about the same things, and then lets it write for rows that it was not tuned on; the new text gets the
labels of its source. Left out: the choice of settings by BLEU on held-out pairs, which is only logged here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from tailwright.augmentation import AugmenterCard, Forecast, RowAugmenter, augmenters
from tailwright.augmentation._rows_to_augment import rows_made_of
from tailwright.augmentation._text_pairs import PairsAndSources, PairSettings, pairs_and_sources
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.errors import InputError, MissingExtraError
from tailwright.language.decoding import DecodingSettings
from tailwright.language.pairs import TextPairs
from tailwright.language.tuning_settings import TuningSettings

if TYPE_CHECKING:
    from tailwright.language.generator import Generator

log = logging.getLogger(__name__)

Part = TypeVar("Part")

SHARE_IN_THE_PAPER = 0.203  # of the training rows, at every size of its corpus


@dataclass(frozen=True)
class GdaSettings(PairSettings, TuningSettings, DecodingSettings):
    """Which rows are sources, which pairs teach the generator, how it is tuned, and how it writes.

    | setting | meaning |
    |---|---|
    | `generator` | what is tuned: `smollm2`, a hub id such as `gpt2`, a folder; `scratch`: a new small one |
    | `bleu_pairs` | of the pairs that are held out, so many are written for and judged by BLEU, for the log |

    All others are those of `PairSettings`, `TuningSettings` and `DecodingSettings`. The paper has `gpt2`,
    `rows="all"` and its five media labels in `omit_labels`.
    """

    generator: str = "smollm2"
    bleu_pairs: int = 50

    def __post_init__(self) -> None:
        for part in (PairSettings, TuningSettings, DecodingSettings):
            part.__post_init__(self)
        if not self.generator:
            raise ValueError("generator must be a name, got ''")
        if self.bleu_pairs < 0:
            raise ValueError(f"bleu_pairs must be >= 0, got {self.bleu_pairs}")

    def part(self, kind: type[Part]) -> Part:
        """Those of these settings that `kind` has, so that what depends on them does not depend on others."""
        return kind(**{field.name: getattr(self, field.name) for field in fields(kind)})  # type: ignore[arg-type]


@augmenters.register
class Gda(RowAugmenter):
    """New rows: at most one for each source, `origin.rows` being the source's row.

    Tuning and writing are kept as they go on (`tailwright.language.work`): the same call after a kill
    continues, and loses at most the time since the last checkpoint or one shard of texts.

    Where there are too few pairs no row is added, as an untuned model would write anything but what the
    labels say, and a warning says so.
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
        from tailwright.pretrained import identity_of, weights_folder

        name = self.settings.generator
        return () if name == "scratch" else (identity_of(weights_folder(name)),)

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        settings: GdaSettings = self.settings
        train = corpus.train
        found = self._found(corpus, seed, workers)
        lacking = _lacking(found, settings)
        if lacking:
            log.warning("gda: no rows are added: %s", lacking)
            return rows_made_of(train, np.zeros(0, np.int64), pa.array([], pa.large_string()), self.card.name)

        from tailwright.language.tuning import generator_key, tuned_generator
        from tailwright.language.writing import written_texts

        pairs, tuning = _text_pairs(train, found), settings.part(TuningSettings)
        generator = tuned_generator(settings.generator, pairs, tuning, seed=seed)
        key = generator_key(settings.generator, pairs, tuning, seed=seed)
        self._log_bleu(generator, pairs, seed, key)
        written = written_texts(
            generator,
            train.texts.take(pa.array(found.sources)),
            train.origin.rows[found.sources],
            settings.part(DecodingSettings),
            seed=seed,
            key=key,
        )
        made = rows_made_of(train, found.sources[written.sources], written.texts, self.card.name)
        counts = ", ".join(f"{count} {reason}" for reason, count in written.counts.items() if count)
        log.info("gda: %d texts for %d sources; counted: %s", len(made), len(found.sources), counts or "-")
        log.info(
            "gda: new rows are %.1f %% of the training rows (%.1f %% in the paper)",
            100 * len(made) / max(len(train), 1),
            100 * SHARE_IN_THE_PAPER,
        )
        return made

    def forecast(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Forecast:
        """Counts pairs and sources, and tries a step of tuning and some texts: a minute or two."""
        settings: GdaSettings = self.settings
        found = self._found(corpus, seed, workers)
        lacking = _lacking(found, settings)
        if lacking:
            return Forecast(len(found.sources), 0, 0.0, 0.0, 0.0, (f"no rows are added: {lacking}",))

        from tailwright.augmentation._gda_forecast import forecast_of

        return forecast_of(
            settings.generator,
            _text_pairs(corpus.train, found),
            corpus.train.texts.take(pa.array(found.sources)),
            settings.part(TuningSettings),
            settings.part(DecodingSettings),
            bleu_pairs=settings.bleu_pairs,
            seed=seed,
        )

    def _found(self, corpus: Corpus, seed: int, workers: int) -> PairsAndSources:
        found = pairs_and_sources(corpus, self.settings, seed=seed, workers=workers)
        log.info(
            "gda: %d of %d rows are fit; %d pairs with the same labels (%d more are too similar), %d sources",
            found.fit,
            len(corpus.train),
            len(found.firsts),
            found.too_similar,
            len(found.sources),
        )
        if len(corpus.train) and not found.fit:
            raise InputError(
                "no row is fit for gda",
                expected="original rows with min_words to max_words words and without omitted labels",
            )
        return found

    def _log_bleu(self, generator: Generator, pairs: TextPairs, seed: int, key: str) -> None:
        """Log how near the generator comes to targets that it was not tuned on."""
        settings: GdaSettings = self.settings
        _, held = pairs.split(settings.held_out, seed)
        if not len(held) or not settings.bleu_pairs:
            return

        from tailwright.language.bleu import held_out_bleu
        from tailwright.language.writing import written_texts

        def write(generator: Generator, sources: pa.LargeStringArray) -> list[str]:
            decoding = settings.part(DecodingSettings)
            written = written_texts(generator, sources, np.arange(len(sources)), decoding, seed=seed, key=key)
            texts = dict(zip(written.sources.tolist(), written.texts.to_pylist(), strict=True))
            return [texts.get(source, "") for source in range(len(sources))]

        try:
            score = held_out_bleu(generator, held, write, most=settings.bleu_pairs, seed=seed)
        except MissingExtraError as missing:
            log.info("gda: %s", missing)
        else:
            log.info("gda: BLEU %.1f on %d held-out pairs", score, min(len(held), settings.bleu_pairs))


def _lacking(found: PairsAndSources, settings: GdaSettings) -> str:
    """Why nothing can be written; empty where it can."""
    if not len(found.sources):
        return "no source among the fit rows (rows, tail_below, sources)"
    if len(found.firsts) < settings.min_pairs:
        return (
            f"{len(found.firsts)} pairs of rows with the same labels, where min_pairs={settings.min_pairs} "
            "are needed (more rows, sources=all, or other min_words, max_words, omit_labels may give them)"
        )
    return ""


def _text_pairs(train: Dataset, found: PairsAndSources) -> TextPairs:
    return TextPairs(train.texts.take(pa.array(found.firsts)), train.texts.take(pa.array(found.seconds)))
