"""`written_texts`: a generator writes a text for each of many sources, in shards that survive a kill.

Sources are sorted by length and cut into shards, which depends on the inputs alone. The candidates of a
finished shard are one file in a work folder; the same call again finds them there and goes on with the first
shard that is missing. Which candidate becomes a source's text is decided when all are there, in the order of
the rows, so neither a kill nor the order of the shards makes a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import torch

from tailwright.code_version import code_version
from tailwright.data.text.similarity import similar_above
from tailwright.language.decoding import BatchDecoder
from tailwright.language.generator import Generator
from tailwright.language.loops import is_looping, without_loops
from tailwright.language.settings import DecodingSettings
from tailwright.language.shards import in_shards
from tailwright.language.work import Texts, work_folder
from tailwright.progress import Advance
from tailwright.store.shared import content_key

CUT, NOTHING = "cut sources", "empty sources"
EMPTY, EQUAL, SIMILAR, DUPLICATE = "empty", "equal to source", "too similar", "duplicate"
LOOPING, CUT_LOOPS = "looping", "texts with a loop cut out"
WITHOUT = "rows without a text"


@dataclass(frozen=True)
class Written:
    """Texts, and which source each was written for, in the order of the sources.

    `counts` has the rejected candidates by reason (`TextChoice`), the `rows without a text`, the `texts with
    a loop cut out`, the `cut sources`, of which the model could only read the beginning, and the `empty
    sources`, which get no text.
    """

    texts: pa.LargeStringArray
    sources: np.ndarray
    counts: Mapping[str, int]


def written_texts(
    generator: Generator,
    sources: pa.LargeStringArray,
    rows: np.ndarray,
    settings: DecodingSettings,
    *,
    seed: int,
    key: str,
) -> Written:
    """A text for each source that has a good candidate.

    `rows`, (sources,), are the sources' row numbers: the draws of a source depend on its number, and if two
    sources want the same text, the lower number gets it. `key` identifies the generator.
    """
    rows = np.asarray(rows, dtype=np.int64)
    if len(rows) != len(sources):
        raise ValueError(f"rows must be one number a source, got {len(rows)} for {len(sources)}")
    decoder = BatchDecoder(generator, settings, seed)
    lengths = decoder.lengths(sources)
    order = np.lexsort((rows, lengths))
    order = order[lengths[order] > 0]
    starts = range(0, len(order), settings.shard_rows)
    shards = [order[start : start + settings.shard_rows] for start in starts]
    # The choice comes after decoding, so its setting makes no difference to the candidates.
    asked = repr(replace(settings, max_similarity=None))
    digest = content_key(key, sources, rows, asked, seed, code_version([__name__]))
    folder = work_folder("texts", digest)
    candidates = in_shards(folder, shards, _Writing(decoder, sources, rows), "writing texts")
    place_of = np.full(len(sources), -1)
    place_of[order] = np.arange(len(order))
    choice = TextChoice(settings.max_similarity)
    text_of: dict[int, str] = {}
    for source in np.argsort(rows, kind="stable").tolist():
        place = int(place_of[source])
        texts = () if place < 0 else (text.as_py() for text in candidates[place].values)
        text = choice.of(sources[source].as_py(), texts)
        if text is not None:
            text_of[source] = text
    written = sorted(text_of)
    counts = {CUT: decoder.cut(lengths), NOTHING: int((lengths == 0).sum()), **choice.counts}
    column = pa.array([text_of[source] for source in written], pa.large_string())
    return Written(column, np.array(written, np.int64), counts)


@dataclass(frozen=True, eq=False)
class _Writing:
    """An author of candidates for sources."""

    decoder: BatchDecoder
    sources: pa.LargeStringArray
    rows: np.ndarray

    @property
    def device(self) -> torch.device:
        return self.decoder.generator.model.device

    def texts(self, places: np.ndarray, advance: Advance) -> list[Texts]:
        texts = [self.sources[int(place)].as_py() for place in places]
        return self.decoder.candidates(texts, self.rows[places].tolist(), advance)


class TextChoice:
    """Chooses each source's text: its first candidate that is new and repeats neither the source nor itself.

    Loops are cut out of a candidate first. It remembers the texts it has given away, so the order of the
    sources matters. `counts` has the number of rejected candidates by reason, of texts that a loop was cut
    out of, and of sources left without a text.
    """

    def __init__(self, max_similarity: float | None) -> None:
        self.max_similarity = max_similarity
        self.counts = dict.fromkeys((EMPTY, EQUAL, SIMILAR, DUPLICATE, LOOPING, CUT_LOOPS, WITHOUT), 0)
        self._taken: set[str] = set()

    def of(self, source: str, candidates: Iterable[str]) -> str | None:
        """The text for `source`, of its candidates from best to worst, or None."""
        plain_source = plain(source)
        for candidate in candidates:
            text = without_loops(candidate, source)
            plain_text = plain(text)
            reason = self._objection(plain_source, plain_text)
            if reason is None:
                self.counts[CUT_LOOPS] += text != candidate
                self._taken.add(plain_text)
                return text
            self.counts[reason] += 1
        self.counts[WITHOUT] += 1
        return None

    def _objection(self, source: str, text: str) -> str | None:
        if not text:
            return EMPTY
        if text == source:
            return EQUAL
        if text in self._taken:
            return DUPLICATE
        if is_looping(text) and not is_looping(source):
            return LOOPING
        highest = self.max_similarity
        if highest is not None and similar_above(source.split(), text.split(), highest):
            return SIMILAR
        return None


def plain(text: str) -> str:
    """A text without differences of case and white space.

    >>> plain(" Two  WORDS ")
    'two words'
    """
    return " ".join(text.casefold().split())
