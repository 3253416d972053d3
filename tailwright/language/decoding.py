"""`BatchDecoder`: sources in, candidates out, in batches that fit into memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tailwright.errors import InputError
from tailwright.language.beam import Continuation, beam_search
from tailwright.language.generator import Generator
from tailwright.language.sampling import sampled
from tailwright.language.settings import DecodingSettings
from tailwright.language.work import Texts
from tailwright.progress import Advance
from tailwright.streams import stream

_TOKENISED_AT_A_TIME = 4096
_RATE_ROWS = 16


class BatchDecoder:
    """A generator, and how it is asked for texts."""

    def __init__(self, generator: Generator, settings: DecodingSettings, seed: int) -> None:
        self.generator, self.settings, self.seed = generator, settings, seed
        generator.model.eval()  # type: ignore[no-untyped-call]
        if self._room(generator.positions) < 1:
            raise InputError(
                f"a generator of {generator.positions} positions",
                expected="room for a source, the separator and a target",
            )

    def lengths(self, sources: pa.LargeStringArray) -> np.ndarray:
        """(sources,) tokens of each, before any is cut."""
        lengths = np.zeros(len(sources), np.int64)
        for start in range(0, len(sources), _TOKENISED_AT_A_TIME):
            texts = sources[start : start + _TOKENISED_AT_A_TIME].to_pylist()
            lengths[start : start + len(texts)] = [len(tokens) for tokens in self.generator.all_tokens(texts)]
        return lengths

    def cut(self, lengths: np.ndarray) -> int:
        """How many sources of these lengths are too long."""
        return sum(length > self._room(length) for length in lengths.tolist())

    def candidates(self, sources: Sequence[str], rows: Sequence[int], advance: Advance) -> list[Texts]:
        """The candidates of sources that are sorted by length; `rows` are the numbers of their streams."""
        tokens = self.generator.all_tokens(sources)
        limits = [self._limit(len(of_source)) for of_source in tokens]
        prompts = [
            [*of_source[: self._room(len(of_source))], *self.generator.separator] for of_source in tokens
        ]
        candidates: list[Texts] = []
        for start, end in self._batches(prompts, limits):
            batch = self._decoded(prompts[start:end], limits[start:end], rows[start:end])
            candidates += [[(self.generator.text(one.tokens), one.score) for one in texts] for texts in batch]
            advance(end - start)
        return candidates

    def _limit(self, source_tokens: int) -> int:
        return self.settings.new_tokens(source_tokens, self.generator.positions)

    def _room(self, source_tokens: int) -> int:
        """How many tokens of a source are read."""
        return self.generator.positions - self._limit(source_tokens) - len(self.generator.separator)

    def _batches(self, prompts: Sequence[Sequence[int]], limits: Sequence[int]) -> Iterator[tuple[int, int]]:
        """First and last place of the sources in a batch: as many as `batch_tokens` has room for."""
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
    ) -> list[list[Continuation]]:
        settings, generator = self.settings, self.generator
        if settings.strategy == "beam":
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


def decoding_rate(
    generator: Generator, sources: pa.LargeStringArray, settings: DecodingSettings, seed: int
) -> float:
    """Sources a second, measured on a few drawn by the seed; larger batches than theirs are quicker."""
    decoder = BatchDecoder(generator, settings, seed)
    count = min(_RATE_ROWS, len(sources))
    if not count:
        raise InputError("no sources", expected="at least one to measure a rate on")
    places = stream(seed, "decoding rate").choice(len(sources), count, replace=False)
    texts = [sources[int(place)].as_py() for place in places]
    start = time.perf_counter()
    texts.sort(key=lambda text: len(generator.tokens(text)))
    decoder.candidates(texts, range(count), lambda n: None)
    return count / (time.perf_counter() - start)
