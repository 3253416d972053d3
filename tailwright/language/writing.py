"""`written_texts`: a generator writes a text for each of many sources, in shards that survive a kill.

Sources are sorted by length and cut into shards, by the inputs alone. The candidates of a finished shard are
one file in a work folder named by all that they depend on; the same call again finds them there and goes on
with the first shard that is missing. Which candidate becomes a source's text is decided when all are there,
in the order of the rows, so it does not depend on who was finished first, nor on what was killed.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tailwright.code_version import code_version
from tailwright.errors import InputError
from tailwright.language.beam import Candidate, beam_search
from tailwright.language.choosing import WITHOUT, Choice
from tailwright.language.decoding import DecodingSettings
from tailwright.language.generator import Generator
from tailwright.language.sampling import sampled
from tailwright.language.shards import Texts, read_shard, write_shard
from tailwright.language.work import alone, work_folder
from tailwright.progress import Advance, progress
from tailwright.store.errors import errors_of_writing
from tailwright.store.shared import content_key
from tailwright.store.whole_file import clear_siblings
from tailwright.streams import stream

log = logging.getLogger(__name__)

CUT, NOTHING = "cut sources", "empty sources"
_TOKENISED_AT_A_TIME = 4096
_RATE_ROWS = 16
# What is decided after decoding: another value finds the same candidates.
_OF_THE_CHOICE = {"max_similarity"}


@dataclass(frozen=True)
class Written:
    """Texts, and which source each was written for, in the order of the sources.

    `counts` has the candidates passed over, by reason (`choosing.py`), `rows without a text`, `cut sources`:
    sources too long for the model, of which it read the beginning, and `empty sources`, which get no text.
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
    """A text for each source that gets a good one.

    `rows`, (sources,), are the sources' own numbers: what a source draws depends on its number, and of two
    sources that want the same text the lower number has it. `key` tells generators apart.
    """
    rows = np.asarray(rows, dtype=np.int64)
    if len(rows) != len(sources):
        raise ValueError(f"rows must be one number a source, got {len(rows)} for {len(sources)}")
    desk = _Desk(generator, settings, seed)
    lengths = desk.lengths(sources)
    order = np.lexsort((rows, lengths))
    order = order[lengths[order] > 0]
    starts = range(0, len(order), settings.shard_rows)
    shards = [order[start : start + settings.shard_rows] for start in starts]
    folder = work_folder("texts", _key(sources, rows, settings, seed, key))
    with alone(folder) as locked:
        candidates = _all_candidates(folder, desk, sources, rows, shards, locked=locked)
    place_of = np.full(len(sources), -1)
    place_of[order] = np.arange(len(order))
    choice = Choice(settings.max_similarity)
    chosen: dict[int, str] = {}
    for source in np.argsort(rows, kind="stable").tolist():
        if place_of[source] < 0:
            choice.counts[WITHOUT] += 1
            continue
        own = (text.as_py() for text in candidates[int(place_of[source])].values)
        found = choice.of(sources[source].as_py(), own)
        if found is not None:
            chosen[source] = found
    written = sorted(chosen)
    counts = {CUT: desk.cut(lengths), NOTHING: int((lengths == 0).sum()), **choice.counts}
    texts = pa.array([chosen[source] for source in written], pa.large_string())
    return Written(texts, np.array(written, np.int64), counts)


def decoding_rate(
    generator: Generator, sources: pa.LargeStringArray, settings: DecodingSettings, seed: int
) -> float:
    """Sources a second, measured on a few drawn by the seed; larger batches than theirs are quicker."""
    desk = _Desk(generator, settings, seed)
    count = min(_RATE_ROWS, len(sources))
    if not count:
        raise InputError("no sources", expected="at least one to measure a rate on")
    some = stream(seed, "decoding rate").choice(len(sources), count, replace=False)
    texts = [sources[int(source)].as_py() for source in some]
    start = time.perf_counter()
    texts.sort(key=lambda text: len(generator.tokens(text)))
    desk.candidates(texts, range(count), lambda n: None)
    return count / (time.perf_counter() - start)


def _key(
    sources: pa.LargeStringArray, rows: np.ndarray, settings: DecodingSettings, seed: int, key: str
) -> str:
    """Names all that candidates depend on."""
    said = {name: value for name, value in dataclasses.asdict(settings).items() if name not in _OF_THE_CHOICE}
    return content_key(key, sources, rows, repr(sorted(said.items())), seed, code_version([__name__]))


def _all_candidates(
    folder: Path,
    desk: _Desk,
    sources: pa.LargeStringArray,
    rows: np.ndarray,
    shards: Sequence[np.ndarray],
    *,
    locked: bool,
) -> pa.LargeListArray:
    """A list of texts for each source, in the order of the shards; what is not in the folder is made.

    `locked` says that nobody else writes there.
    """
    paths = [folder / f"{number:06}.json" for number in range(len(shards))]
    missing = [i for i, path in enumerate(paths) if read_shard(path, len(shards[i])) is None]
    left = sum(len(shards[i]) for i in missing)
    total = sum(map(len, shards))
    if missing:
        with errors_of_writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        log.info("writing texts: %d of %d shards are there", len(shards) - len(missing), len(shards))
        # What was written before is no part of the total, so that rate and time left are those of this run.
        there = f" ({total - left:,} of {total:,} are there)" if left < total else ""
        with progress(f"writing texts{there}", left) as advance:
            for i in missing:
                if locked:
                    clear_siblings(paths[i])
                texts = [sources[int(source)].as_py() for source in shards[i]]
                write_shard(paths[i], desk.candidates(texts, rows[shards[i]].tolist(), advance))
    return pa.chunked_array(
        [_texts_of(path, len(shard)) for path, shard in zip(paths, shards, strict=True)],
        pa.large_list(pa.large_string()),
    ).combine_chunks()


def _texts_of(path: Path, sources: int) -> pa.LargeListArray:
    shard = read_shard(path, sources)
    if shard is None:
        raise InputError("has changed while it was in use", expected="a shard of texts", path=path)
    return pa.array([[text for text, _ in texts] for texts in shard], pa.large_list(pa.large_string()))


class _Desk:
    """A generator at work: sources in, candidates out."""

    def __init__(self, generator: Generator, settings: DecodingSettings, seed: int) -> None:
        self.generator, self.settings, self.seed = generator, settings, seed
        generator.model.eval()  # type: ignore[no-untyped-call]
        if self._room(generator.positions) < 1:
            raise InputError(
                f"a generator of {generator.positions} positions",
                expected="room for a source, the separator and a target",
            )

    def lengths(self, sources: pa.LargeStringArray) -> np.ndarray:
        """(sources,) tokens of each, before anything is cut."""
        found = np.zeros(len(sources), np.int64)
        for start in range(0, len(sources), _TOKENISED_AT_A_TIME):
            block = sources[start : start + _TOKENISED_AT_A_TIME].to_pylist()
            found[start : start + len(block)] = [len(tokens) for tokens in self.generator.all_tokens(block)]
        return found

    def cut(self, lengths: np.ndarray) -> int:
        """How many of these sources are too long."""
        return sum(length > self._room(length) for length in lengths.tolist())

    def candidates(self, sources: Sequence[str], rows: Sequence[int], advance: Advance) -> list[Texts]:
        """The candidates of sources that are sorted by length; `rows` are the numbers of their streams."""
        tokens = self.generator.all_tokens(sources)
        limits = [self._limit(len(of_source)) for of_source in tokens]
        prompts = [
            [*of_source[: self._room(len(of_source))], *self.generator.separator] for of_source in tokens
        ]
        found: list[Texts] = []
        for start, end in self._batches(prompts, limits):
            batch = self._decoded(prompts[start:end], limits[start:end], rows[start:end])
            found += [[(self.generator.text(one.tokens), one.score) for one in texts] for texts in batch]
            advance(end - start)
        return found

    def _limit(self, source_tokens: int) -> int:
        return self.settings.new_tokens(source_tokens, self.generator.positions)

    def _room(self, source_tokens: int) -> int:
        """How many tokens of a source are read."""
        return self.generator.positions - self._limit(source_tokens) - len(self.generator.separator)

    def _batches(self, prompts: Sequence[Sequence[int]], limits: Sequence[int]) -> Iterator[tuple[int, int]]:
        """From and to of the sources that are written together: as many as `batch_tokens` has room for."""
        start = widest = 0
        for i, (prompt, limit) in enumerate(zip(prompts, limits, strict=True)):
            wider = max(widest, len(prompt) + limit)
            if i > start and (i + 1 - start) * wider * self.settings.candidates > self.settings.batch_tokens:
                yield start, i
                start, wider = i, len(prompt) + limit
            widest = wider
        if prompts:
            yield start, len(prompts)

    def _decoded(
        self, prompts: Sequence[Sequence[int]], limits: Sequence[int], rows: Sequence[int]
    ) -> list[list[Candidate]]:
        settings, generator = self.settings, self.generator
        if settings.decoding == "beam":
            return beam_search(
                generator.model,
                prompts,
                limits,
                beams=settings.beams,
                end=generator.end,
                length_penalty=settings.length_penalty,
            )
        return sampled(
            generator.model,
            prompts,
            limits,
            rows,
            samples=settings.samples,
            end=generator.end,
            seed=self.seed,
            top_p=settings.top_p,
            temperature=settings.temperature,
            length_penalty=settings.length_penalty,
        )
