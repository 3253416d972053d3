"""New rows by editing the words of old ones: what `eda` and `wordnet` share."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tailwright.augmentation import RowAugmenter
from tailwright.augmentation._rows_to_augment import SourceSettings, rows_made_of, rows_to_augment
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.synonym_table import no_synonyms, wordnet_arrays, wordnet_digest
from tailwright.data.text.blocks import joined, row_blocks, row_offsets, run_blocks
from tailwright.data.text.spans import character_classes
from tailwright.data.text.stop_words import ENGLISH, PLAIN
from tailwright.data.text.words import text_buffers
from tailwright.kernels.edits import DELETE, INSERT, SWAP, SYNONYMS, Names, Stops, edit_rows
from tailwright.kernels.edits_original import edit_rows_original
from tailwright.kernels.spans import mark_words
from tailwright.streams import stream_key

log = logging.getLogger(__name__)

OPERATIONS = {"synonyms": SYNONYMS, "insert": INSERT, "swap": SWAP, "delete": DELETE}


@dataclass(frozen=True)
class EditSettings(SourceSettings):
    """Which rows are edited, and how.

    | setting | meaning |
    |---|---|
    | `share` | of the words of a text that an edit changes, rounded down, but at least one |
    | `outputs` | new rows that are tried for each source |
    | `variant` | `textattack`: as TextAttack in 2020, which the GDA paper uses; `original`: as Wei & Zou |
    | `stop_words` | never replaced by synonyms: `as-written` ("the", not "The"), `any-case`, or `none` |
    | `inflections` | `cars` has the synonyms of `car`, in their base form; else none |

    In the variant `textattack` capitals, punctuation and spaces around an edit stay. A walk through the words
    in random order edits each that can be edited, until there are enough; none is edited twice.

    In the variant `original` a text is first cleaned: small letters a to z and single spaces are left. A
    synonym replaces its word wherever it stands and may be several words; each word is deleted by chance;
    nothing is inserted at the end. Nothing is made of a text that has no such letter.
    """

    share: float = 0.1
    outputs: int = 1
    variant: Literal["textattack", "original"] = "textattack"
    stop_words: Literal["as-written", "any-case", "none"] = "as-written"
    inflections: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be in (0, 1], got {self.share}")
        if self.outputs < 1:
            raise ValueError(f"outputs must be >= 1, got {self.outputs}")
        for name, known in (
            ("variant", ("textattack", "original")),
            ("stop_words", ("as-written", "any-case", "none")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}")


class EditsWords(RowAugmenter):
    """A method that makes new rows by operations on the words of old ones.

    New rows have the targets, the ignored and excluded pairs and the weight of their source. A text that no
    edit changes, or that equals another of the same source, makes no row.
    """

    @abstractmethod
    def operations(self) -> Sequence[str]:
        """Names in `OPERATIONS`; each new row is made by one of them, all being as likely."""

    def depends_on(self) -> tuple[str, ...]:
        return (wordnet_digest(self.settings.inflections),) if _ask(self.operations()) else ()

    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        train, name = corpus.train, self.card.name
        places = rows_to_augment(corpus, self.settings, seed=seed, workers=workers)
        texts, sources = edited_texts(
            train.texts.take(pa.array(places)),
            train.origin.rows[places],
            self.operations(),
            self.settings,
            key=stream_key(seed, name),
            workers=workers,
        )
        missing = len(places) * self.settings.outputs - len(sources)
        log.info("%s: %d of %d rows are sources of %d new ones", name, len(places), len(train), len(sources))
        if missing:
            log.info(
                "%s: %d texts were left out, as no word was changed or all were as before", name, missing
            )
        return rows_made_of(train, places[sources], texts, name)


def edited_texts(
    texts: pa.LargeStringArray,
    rows: np.ndarray,
    operations: Sequence[str],
    settings: EditSettings,
    *,
    key: np.ndarray,
    synonyms: Names | None = None,
    workers: int | None = None,
) -> tuple[pa.LargeStringArray, np.ndarray]:
    """(edited texts, which of `texts` each was made of), the same for any number of workers.

    `rows` are the texts' row numbers, which their draws follow. `synonyms` are WordNet's unless given, and
    are only asked for if an operation needs them.
    """
    offsets, values = text_buffers(texts)
    original = settings.variant == "original"
    if synonyms is None:
        asks = _ask(operations)
        synonyms = wordnet_arrays(settings.variant, settings.inflections) if asks else no_synonyms()
    asked: tuple[Any, ...] = (
        key,
        np.array([OPERATIONS[operation] for operation in operations]),
        settings.share,
        settings.outputs,
        _stops(settings, synonyms),
        synonyms,
    )

    def edit(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if original:
            return edit_rows_original(values, offsets, rows, first, last, *asked)
        return edit_rows(values, offsets, rows, first, last, *character_classes(), *asked)

    made = run_blocks(edit, row_blocks(offsets, workers))
    ends = row_offsets([ends for _, ends, _ in made])
    content = joined([content for _, _, content in made])
    edited = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(content))
    return edited, joined([sources for sources, _, _ in made])


def _ask(operations: Sequence[str]) -> bool:
    """Whether one of the operations asks WordNet for synonyms."""
    return not {"synonyms", "insert"}.isdisjoint(operations)


def _stops(settings: EditSettings, synonyms: Names) -> Stops:
    listed = PLAIN if settings.variant == "original" else ENGLISH
    words = arrow_strings(() if settings.stop_words == "none" else listed)
    return Stops(mark_words(*synonyms[:4], *text_buffers(words)), settings.stop_words == "any-case")
