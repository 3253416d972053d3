"""What GDA will take: a step of tuning and some texts are tried with the real generator, and not kept.

Seconds of tuning grow with the tokens of the pairs, those of writing with the sources. Both are tried on
texts from the shortest to the longest, so that the memory of the longest is met as well.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.augmentation._forecast import Forecast
from tailwright.encoders.token_batches import chunks
from tailwright.language.adapting import adapted, untuned
from tailwright.language.decoding import DecodingSettings
from tailwright.language.generator import Generator
from tailwright.language.pairs import TextPairs
from tailwright.language.sequences import Sequences, padded, sequences_of
from tailwright.language.token_loss import token_loss
from tailwright.language.tuning_settings import TuningSettings
from tailwright.language.writing import decoding_rate
from tailwright.training.optimisers import Optimisers
from tailwright.training.phases import Plan
from tailwright.training.workplace import peak_rss_mb

TOKENS_TRIED = 2048
SOURCES_TRIED = 8
CHECKPOINT = 4  # times what learns: its weights, their two moments, the best weights so far


def forecast_of(
    name: str,
    pairs: TextPairs,
    sources: pa.LargeStringArray,
    tuning: TuningSettings,
    decoding: DecodingSettings,
    *,
    bleu_pairs: int,
    seed: int,
) -> Forecast:
    """The forecast for these pairs and sources; nothing is kept but pretrained weights, in their cache."""
    start = time.perf_counter()
    base = untuned(name, pairs, tuning, seed)
    data = sequences_of(base, pairs, longest=tuning.max_tokens)
    loading = time.perf_counter() - start
    tried = _tried(base, data, tuning, seed)
    tokens, steps = len(data.tokens), -(-len(data) // tuning.batch)
    tuning_seconds = tuning.epochs * (tokens * tried.seconds_a_token + steps * tried.seconds_a_step)

    # A model that is not tuned does not know where to end. A tuned one writes what is as long as its targets.
    as_long = 1 + round(float(np.mean(data.lengths - data.targets)))
    shortened = replace(decoding, max_new_tokens=min(decoding.max_new_tokens, as_long), max_growth=None)
    some = sources.take(pa.array(_spread(pc.utf8_length(sources).to_numpy(), SOURCES_TRIED)))
    rate = decoding_rate(tried.generator, some, shortened, seed)
    held_out = len(pairs.split(tuning.held_out, seed)[1])
    texts = len(sources) + min(held_out, bleu_pairs)

    learnt_mb = tried.learnt_bytes / 1e6
    texts_mb = decoding.candidates * sources.nbytes / 1e6
    return Forecast(
        len(sources),
        len(sources),
        loading + tuning_seconds + texts / rate,
        peak_rss_mb(),
        learnt_mb * (1 + CHECKPOINT) + texts_mb,
        (
            f"tuning: {len(pairs):,} pairs of {tokens:,} tokens, {tuning.epochs} epochs at most: "
            f"{tuning_seconds:,.0f} s, {1 / tried.seconds_a_token:,.0f} tokens a second",
            f"writing: {texts:,} texts of {shortened.max_new_tokens} tokens, as many as targets have: "
            f"{texts / rate:,.0f} s, {rate:.2g} texts a second",
            f"disk: {learnt_mb + texts_mb:,.1f} MB stay in the cache, the rest is checkpoints",
        ),
    )


def _spread(lengths: np.ndarray, count: int) -> np.ndarray:
    """Places of `count` texts, from the longest to the shortest."""
    places = np.linspace(0, len(lengths) - 1, min(count, len(lengths))).round().astype(np.int64)
    return np.argsort(-lengths, kind="stable")[places]


@dataclass(frozen=True)
class _Tried:
    """What a step of tuning has shown."""

    generator: Generator
    seconds_a_token: float  # forwards and backwards
    seconds_a_step: float  # of the optimiser
    learnt_bytes: int


def _tried(base: Generator, data: Sequences, settings: TuningSettings, seed: int) -> _Tried:
    """One step on some of the sequences, in the parts of a batch that a real tuning has."""
    model = adapted(base, settings, seed)
    model.model.train()
    device = next(iter(model.parts.values())).device
    rates = dict.fromkeys(model.parts, settings.rate)
    plan = Plan(1, settings.batch, rates, weight_decay=settings.weight_decay, clip=settings.clip)
    optimisers = Optimisers(model.parts, plan)
    rows = _spread(data.lengths, max(round(TOKENS_TRIED * len(data) / len(data.tokens)), 2))
    start = time.perf_counter()
    for places in chunks(data.lengths[rows], settings.step_tokens):
        tokens, predicted = padded(data, rows[places], whole=settings.loss == "sequence")
        loss = token_loss(model.model, tokens.to(device), predicted.to(device))
        (loss / max(int(predicted.sum()), 1)).backward()  # type: ignore[no-untyped-call]
    learnt = time.perf_counter()
    optimisers.step(1.0)
    stepped = time.perf_counter()
    return _Tried(
        model.tuned(),
        (learnt - start) / int(data.lengths[rows].sum()),
        stepped - learnt,
        sum(part.numel() * part.element_size() for part in model.parts.values()),
    )
