"""New rows by editing the words of old ones, for `eda` and `wordnet`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.augmentation.shared.sources import SourceSettings, drawn_rows, rows_made_of, rows_to_augment
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, arrow_strings, text_buffers
from tailwright.data.synonyms import no_synonyms, wordnet_arrays, wordnet_digest
from tailwright.data.text.blocks import joined, row_blocks, row_offsets
from tailwright.data.text.stop_words import ENGLISH, PLAIN
from tailwright.data.text.words import character_classes
from tailwright.kernels.blocks import run_blocks
from tailwright.kernels.edits import DELETE, INSERT, SWAP, SYNONYMS, Names, Stops, edit_rows
from tailwright.kernels.edits_original import edit_rows_original
from tailwright.kernels.spans import mark_words
from tailwright.settings import Settings, setting
from tailwright.streams import stream_key
from tailwright.training.row_pieces import RowRange, over_rows, row_pieces

log = logging.getLogger(__name__)

NO_WORD = r"[^\pL\pN_]+"  # what lies between the words of `split_words`
FEWEST_ROWS, MOST_ROWS = 1 << 13, 1 << 16  # of a piece: a tenth of a second of work or more, some MB of text
OPERATIONS = {"synonyms": SYNONYMS, "insert": INSERT, "swap": SWAP, "delete": DELETE}


@dataclass(frozen=True)
class EditSettings(Settings):
    """How the words of a row are edited.

    In the variant `textattack` capitals, punctuation and spaces around an edit stay. The words are visited in
    random order, and each that can be edited is, until there are enough; none is edited twice.

    In the variant `original` a text is first reduced to lower-case letters a to z and single spaces. A
    synonym replaces its word everywhere and may be several words; each word is deleted with a probability;
    nothing is inserted at the end. A text without such a letter gives no row.
    """

    share: float = setting(
        0.1,
        "share of the words of a text that an edit changes, rounded down, but at least one",
        above=0,
        most=1,
    )
    outputs: int = setting(1, "new rows tried for each source", least=1, most=10_000)
    variant: Literal["textattack", "original"] = setting(
        "textattack", "textattack: as TextAttack in 2020, which the GDA paper uses; original: as Wei & Zou"
    )
    stop_words: Literal["as-written", "any-case", "none"] = setting(
        "as-written", "never replaced by synonyms: as-written (the, not The), any-case, or none"
    )
    same_words: bool = setting(
        False,
        "keep rows that differ from their source in capitals, punctuation or spaces only, as the papers",
    )
    inflections: bool = setting(True, "cars has the synonyms of car, in their base form; else it has none")


def edited_rows(
    corpus: Corpus,
    name: str,
    operations: Sequence[str],
    selection: SourceSettings,
    settings: EditSettings,
    *,
    seed: int,
    workers: int,
) -> Dataset:
    """The new rows of the method `name`: each is a source row, its text changed by one of the operations.

    New rows have the targets, the ignored and excluded pairs and the weight of their source. A text that no
    edit changes, or that equals another of the same source, gives no row; nor does one with the same words as
    its source, since a classifier reads it as a copy.
    """
    train = corpus.train
    places = rows_to_augment(corpus, selection, seed=seed, workers=workers)
    places = drawn_rows(places, train.origin.rows, selection.max_rows, seed)
    editing = Editing(
        train.texts.take(pa.array(places)),
        train.origin.rows[places],
        tuple(operations),
        settings,
        stream_key(seed, name),
        _synonyms(operations, settings),
        workers,
    )
    pieces = row_pieces(len(places), fewest=FEWEST_ROWS, most=MOST_ROWS)
    blocks = over_rows(edited_piece, editing, pieces, "editing")
    texts = pa.chunked_array([block.texts for block in blocks], pa.large_string()).combine_chunks()
    sources = joined([np.zeros(0, np.int64), *(block.sources for block in blocks)])
    copies = sum(block.copies for block in blocks)
    missing = len(places) * settings.outputs - len(sources) - copies
    log.info(
        "%s: %d of %d rows are sources of %d new ones", name, len(places), len(train), len(sources) + copies
    )
    if missing:
        log.info("%s: %d texts are left out: no word was changed, or a text came twice", name, missing)
    if copies:
        log.info("%s: %d texts are left out: only capitals, marks or spaces differ", name, copies)
    return rows_made_of(train, places[sources], texts, name)


@dataclass(frozen=True, eq=False)
class Editing:
    """Rows to be edited, and how: all that a piece of the work needs, wherever it is done."""

    texts: pa.LargeStringArray
    rows: np.ndarray  # (texts,) int64: their numbers, which determine their draws
    operations: tuple[str, ...]
    settings: EditSettings
    key: np.ndarray
    synonyms: Names
    threads: int


@dataclass(frozen=True, eq=False)
class Edited:
    """New texts, and which of the rows to be edited each was made of; `copies` more were left out."""

    texts: pa.LargeStringArray
    sources: np.ndarray
    copies: int


def edited_piece(editing: Editing, piece: RowRange) -> list[Edited]:
    """What is made of some of the rows; `same_words` is obeyed."""
    settings = editing.settings
    whole = editing.texts.slice(piece.first, len(piece))
    texts, sources = edited_texts(
        whole,
        # Copies: what another process sent is read-only, and numba would compile everything again.
        editing.rows[piece.first : piece.last].copy(),
        editing.operations,
        settings,
        key=editing.key.copy(),
        synonyms=editing.synonyms,
        workers=min(editing.threads, numba.get_num_threads()),
    )
    copies = 0
    if not settings.same_words:
        other = with_other_words(texts, whole.take(pa.array(sources)))
        copies = int((~other).sum())
        if copies:
            texts, sources = texts.filter(pa.array(other)), sources[other]
    return [Edited(texts, piece.first + sources, copies)]


def with_other_words(texts: pa.LargeStringArray, sources: pa.LargeStringArray) -> np.ndarray:
    """(texts,) bool: whether the words that classifiers read differ from those of the source beside it.

    >>> made, of = arrow_strings(["The cat-flap", "the cap"]), arrow_strings(["the  Cat flap!", "the cat"])
    >>> with_other_words(made, of).tolist()
    [False, True]
    """
    one, other = (
        pc.utf8_trim_whitespace(pc.replace_substring_regex(pc.utf8_lower(side), NO_WORD, " "))
        for side in (texts, sources)
    )
    return np.asarray(pc.not_equal(one, other).to_numpy(zero_copy_only=False))


def synonyms_digest(operations: Sequence[str], settings: EditSettings) -> tuple[str, ...]:
    """What edits depend on beside rows and settings: WordNet's files, if an operation asks for synonyms."""
    return (wordnet_digest(settings.inflections),) if _needs_synonyms(operations) else ()


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

    `rows` are the texts' row numbers, which determine their draws. `synonyms` are WordNet's unless given,
    and loaded only if an operation needs them.
    """
    offsets, values = text_buffers(texts)
    original = settings.variant == "original"
    if synonyms is None:
        synonyms = _synonyms(operations, settings)
    arguments: tuple[Any, ...] = (
        key,
        np.array([OPERATIONS[operation] for operation in operations]),
        settings.share,
        settings.outputs,
        _stops(settings, synonyms),
        synonyms,
    )

    def edit(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if original:
            return edit_rows_original(values, offsets, rows, first, last, *arguments)
        return edit_rows(values, offsets, rows, first, last, *character_classes(), *arguments)

    blocks = run_blocks(edit, row_blocks(offsets, workers))
    ends = row_offsets([ends for _, ends, _ in blocks])
    content = joined([content for _, _, content in blocks])
    edited = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(content))
    return edited, joined([sources for sources, _, _ in blocks])


def _synonyms(operations: Sequence[str], settings: EditSettings) -> Names:
    needed = _needs_synonyms(operations)
    return wordnet_arrays(settings.variant, settings.inflections) if needed else no_synonyms()


def _needs_synonyms(operations: Sequence[str]) -> bool:
    return not {"synonyms", "insert"}.isdisjoint(operations)


def _stops(settings: EditSettings, synonyms: Names) -> Stops:
    listed = PLAIN if settings.variant == "original" else ENGLISH
    words = arrow_strings(() if settings.stop_words == "none" else listed)
    return Stops(mark_words(*synonyms[:4], *text_buffers(words)), settings.stop_words == "any-case")
