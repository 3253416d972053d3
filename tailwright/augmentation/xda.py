"""XDA: a T5 with a learnt prompt fills blanks in the texts of rows; the best of them teach rare labels.

The paper tunes a deep soft prompt of a frozen T5 on the training texts, with their labels before them, by
masking words; then it masks each text anew and lets T5 fill the blanks, which changes some words and keeps
the labels. The best of the new rows stay (`filter`), and their head labels give no loss (`mask`). On these
rows `lightxml` retrains its head alone, as in the paper; any other model is trained on them as it always is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from tailwright.augmentation import (
    AugmenterCard,
    Forecast,
    RowAugmenter,
    RowRefiner,
    RowSettings,
    augmenters,
)
from tailwright.augmentation.filter import Filter, FilterSettings
from tailwright.augmentation.mask import Mask, MaskSettings
from tailwright.augmentation.shared.sources import SourceSettings, drawn_rows, rows_made_of, rows_to_augment
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.language.loops import is_looping, without_loops
from tailwright.language.settings import (
    PRETRAINING_SEED,
    CorruptionSettings,
    FillingSettings,
    PretrainingSettings,
    PromptSettings,
    ScratchT5Settings,
)
from tailwright.pretrained import identity_of, weights_folder
from tailwright.settings import setting

if TYPE_CHECKING:
    from tailwright.augmentation.shared.infilling import Infilling

log = logging.getLogger(__name__)

ANY_LENGTH = 1_000_000  # words; only the first characters of a text are read


@dataclass(frozen=True)
class XdaSettings(RowSettings):
    """Which rows are rewritten, by which T5, what it learns before, and how it fills blanks.

    The paper has `t5-large`, `rows="all"` and two copies, or four for a corpus with many labels a row.
    """

    generator: str = setting(
        "title-t5",
        "what fills blanks: title-t5, a hub id such as t5-large, a folder; scratch: a new small T5",
    )
    prompt: bool = setting(True, "a soft prompt is learnt; off: T5 as it is")
    filter: bool = setting(True, "the best of the new rows are kept; off: all of them")
    mask: bool = setting(True, "new rows give no loss for head labels; off: for all labels")
    labels_in_prompt: bool = setting(
        True, "the names of a row's labels stand before its text, as in the paper; off: as its authors' code"
    )
    label_tokens: int = setting(64, "most tokens of these names; the rarest labels come first", least=1)
    mask_share: float = setting(0.15, "share of the words that are masked, rounded down", above=0, most=1)
    copies: int = setting(2, "new rows tried for each source", least=1, most=10_000)
    selection: SourceSettings = setting(SourceSettings(max_words=ANY_LENGTH), "which rows are sources")
    learning: CorruptionSettings = setting(CorruptionSettings(), "what is learnt from")
    tuning: PromptSettings = setting(PromptSettings(), "the prompt and how it is learnt")
    scratch: ScratchT5Settings = setting(ScratchT5Settings(), "the T5 of generator=scratch")
    pretraining: PretrainingSettings = setting(
        PretrainingSettings(), "how a T5 that fills no blanks as it is learns to"
    )
    filling: FillingSettings = setting(FillingSettings(), "how blanks are filled")
    filtering: FilterSettings = setting(FilterSettings(), "which rows are the best: the settings of `filter`")
    masking: MaskSettings = setting(MaskSettings(), "which labels are head labels: the settings of `mask`")

    def check(self) -> None:
        if not self.generator:
            raise ValueError("generator must be a name, got ''")
        if self.labels_in_prompt and self.label_tokens >= self.learning.max_tokens:
            longest = self.learning.max_tokens
            raise ValueError(
                f"label_tokens must be below learning.max_tokens ({longest}), as what is learnt from has "
                f"labels and text, got {self.label_tokens}"
            )


@augmenters.register
class Xda(RowAugmenter):
    """New rows: up to `copies` for each source, `origin.rows` being the source's row.

    A text that equals its source, as of a text too short for a blank, or another copy gives no row.
    """

    card = AugmenterCard(
        name="xda",
        summary="texts whose masked words a T5 with a learnt prompt fills in anew",
        door="rows",
        keeps_targets=True,
        paper="Taming Prompt-based Data Augmentation for Long-tailed Extreme Multi-label Text Classification",
        needs=("a language model",),
    )
    Settings = XdaSettings
    probes = ()
    quick: ClassVar[Mapping[str, Any]] = {
        "generator": "scratch",
        "mask_share": 0.5,
        "rows": "all",
        "min_words": 0,
        "max_rows": 12,
        "max_texts": 16,
        "scratch.width": 16,
        "scratch.layers": 1,
        "scratch.vocabulary": 400,
        "pretraining.epochs": 1,
        "tuning.epochs": 1,
        "start_texts": 4,
        "max_new_tokens": 12,
    }

    def refiners(self) -> tuple[RowRefiner, ...]:
        s: XdaSettings = self.settings
        refiners: list[RowRefiner] = []
        if s.filter:
            refiners.append(Filter(s.filtering))
        if s.mask:
            refiners.append(Mask(s.masking))
        return tuple(refiners)

    def depends_on(self) -> tuple[str, ...]:
        name = self.settings.generator
        return () if name == "scratch" else (identity_of(weights_folder(name)),)

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        train = corpus.train
        work = self._work(corpus, seed, workers)
        if not len(work.sources):
            log.warning("xda: no rows are added: no source (rows, tail_below, min_words, max_words)")
            return rows_made_of(train, work.sources, pa.array([], pa.large_string()), "xda")
        made = work.texts()
        sources, texts, cut_loops = [], [], 0
        for place, source, copies in zip(
            work.sources.tolist(), work.to_fill.texts.to_pylist(), made.to_pylist(), strict=True
        ):
            cut = [without_loops(text, source) for text in copies]
            cut_loops += sum(text != whole for text, whole in zip(cut, copies, strict=True))
            new = [text for text in dict.fromkeys(cut) if text and text != source]
            new = [text for text in new if is_looping(source) or not is_looping(text)]
            sources += [place] * len(new)
            texts += new
        log.info(
            "xda: %d texts for %d sources; %d are left out, as nothing changed, a text came twice or "
            "it loops; a loop was cut out of %d",
            len(texts),
            len(work.sources),
            len(work.sources) * self.settings.copies - len(texts),
            cut_loops,
        )
        return rows_made_of(train, np.array(sources, np.int64), pa.array(texts, pa.large_string()), "xda")

    def forecast(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Forecast:
        """Counts the sources, and tries some steps of learning and some texts: a minute or two."""
        work = self._work(corpus, seed, workers)
        if not len(work.sources):
            return Forecast(0, 0, 0.0, 0.0, 0.0, ("no rows are added: no source",))
        return work.forecast()

    def _work(self, corpus: Corpus, seed: int, workers: int) -> Infilling:
        from tailwright.augmentation.shared.infilling import Infilling  # torch, transformers

        s: XdaSettings = self.settings
        numbers = corpus.train.origin.rows
        fit = rows_to_augment(corpus, replace(s.selection, rows="all"), seed=seed, workers=workers)
        sources = rows_to_augment(corpus, s.selection, seed=seed, workers=workers)
        most = s.learning.max_texts
        pretrained_on = drawn_rows(fit, numbers, most, PRETRAINING_SEED, "texts to learn from")
        learnt = drawn_rows(fit, numbers, most, seed, "texts to learn from")
        drawn = drawn_rows(sources, numbers, s.selection.max_rows, seed)
        return Infilling(corpus, pretrained_on, learnt, drawn, s, seed)
