"""`Generation`: a language model, tuned on pairs of texts, writes a text for each source."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.augmentation import Forecast
from tailwright.augmentation.shared.text_pairs import PairsAndSources
from tailwright.data.dataset import Dataset
from tailwright.encoders.token_batches import chunks
from tailwright.errors import MissingExtraError
from tailwright.language.adapting import adapted, untuned
from tailwright.language.decoding import decoding_rate
from tailwright.language.generator import Generator
from tailwright.language.pairs import Sequences, TextPairs, padded, sequences_of
from tailwright.language.settings import DecodingSettings, TuningSettings
from tailwright.language.tuning import generator_key, token_loss, tuned_generator
from tailwright.language.writing import Written, written_texts
from tailwright.streams import stream
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan
from tailwright.training.workplace import peak_rss_mb

log = logging.getLogger(__name__)

TOKENS_TRIED = 2048
SOURCES_TRIED = 8
CHECKPOINT = 4  # times what learns: its weights, their two moments, the best weights so far


class Generation:
    """The work of one generator on one corpus.

    Tuning and writing are kept as they proceed (`tailwright.language.work`): after a kill the same call
    continues, and loses at most the time since the last checkpoint, or one shard of texts.
    """

    def __init__(
        self,
        name: str,
        train: Dataset,
        drawn: PairsAndSources,
        tuning: TuningSettings,
        decoding: DecodingSettings,
        *,
        bleu_pairs: int,
        seed: int,
    ) -> None:
        texts = train.texts
        self.name, self.tuning, self.decoding = name, tuning, decoding
        self.bleu_pairs, self.seed = bleu_pairs, seed
        self.pairs = TextPairs(texts.take(pa.array(drawn.firsts)), texts.take(pa.array(drawn.seconds)))
        self.sources = texts.take(pa.array(drawn.sources))
        self.rows = train.origin.rows[drawn.sources]

    def texts(self) -> Written:
        """The texts of the tuned generator; its BLEU on held-out pairs is logged."""
        generator = tuned_generator(self.name, self.pairs, self.tuning, seed=self.seed)
        self._log_bleu(generator)
        return self._written(generator, self.sources, self.rows)

    def _written(self, generator: Generator, sources: pa.LargeStringArray, rows: np.ndarray) -> Written:
        key = generator_key(self.name, self.pairs, self.tuning, seed=self.seed)
        return written_texts(generator, sources, rows, self.decoding, seed=self.seed, key=key)

    def _log_bleu(self, generator: Generator) -> None:
        held_out = self._held_out()
        if not len(held_out) or not self.bleu_pairs:
            return

        def write(sources: pa.LargeStringArray) -> list[str]:
            written = self._written(generator, sources, np.arange(len(sources)))
            texts = dict(zip(written.sources.tolist(), written.texts.to_pylist(), strict=True))
            return [texts.get(source, "") for source in range(len(sources))]

        try:
            score = held_out_bleu(
                held_out, write, lower_case=generator.lower_case, most=self.bleu_pairs, seed=self.seed
            )
        except MissingExtraError as missing:
            log.info("%s", missing)
        else:
            log.info("BLEU %.1f on %d held-out pairs", score, min(len(held_out), self.bleu_pairs))

    def _held_out(self) -> TextPairs:
        return self.pairs.split(self.tuning.held_out, self.seed)[1]

    def forecast(self) -> Forecast:
        """What `texts` will take: a step of tuning and some texts are tried, and not kept.

        The time of tuning grows with the tokens of the pairs, that of writing with the sources. Both are
        tried on texts from the shortest to the longest, which also shows the memory of the longest.
        """
        tuning, decoding = self.tuning, self.decoding
        start = time.perf_counter()
        base = untuned(self.name, self.pairs, tuning, self.seed)
        data = sequences_of(base, self.pairs, longest=tuning.max_tokens)
        loading = time.perf_counter() - start
        trial = _tuning_trial(base, data, tuning, self.seed)
        tokens, steps = len(data.tokens), -(-len(data) // tuning.batch)
        tuning_seconds = tuning.epochs * (tokens * trial.seconds_a_token + steps * trial.seconds_a_step)

        # An untuned model does not know where to end. A tuned one writes texts as long as its targets.
        as_long = 1 + round(float(np.mean(data.lengths - data.targets)))
        shortened = replace(decoding, max_new_tokens=min(decoding.max_new_tokens, as_long), max_growth=None)
        lengths = pc.utf8_length(self.sources).to_numpy()
        some = self.sources.take(pa.array(_from_long_to_short(lengths, SOURCES_TRIED)))
        rate = decoding_rate(trial.generator, some, shortened, self.seed)
        texts = len(self.sources) + min(len(self._held_out()), self.bleu_pairs)

        learnt_mb = trial.learnt_bytes / 1e6
        texts_mb = decoding.candidates * self.sources.nbytes / 1e6
        return Forecast(
            len(self.sources),
            len(self.sources),
            loading + tuning_seconds + texts / rate,
            peak_rss_mb(),
            learnt_mb * (1 + CHECKPOINT) + texts_mb,
            (
                f"tuning: {len(self.pairs):,} pairs of {tokens:,} tokens, at most {tuning.epochs} epochs: "
                f"{tuning_seconds:,.0f} s, {1 / trial.seconds_a_token:,.0f} tokens a second",
                f"writing: {texts:,} texts of {shortened.max_new_tokens} tokens, as long as the targets: "
                f"{texts / rate:,.0f} s, {rate:.2g} texts a second",
                f"disk: {learnt_mb + texts_mb:,.1f} MB stay in the cache, the rest is checkpoints",
            ),
        )


def _from_long_to_short(lengths: np.ndarray, count: int) -> np.ndarray:
    """Places of `count` texts, evenly spread from the longest to the shortest."""
    places = np.linspace(0, len(lengths) - 1, min(count, len(lengths))).round().astype(np.int64)
    return np.argsort(-lengths, kind="stable")[places]


@dataclass(frozen=True)
class _TuningTrial:
    """What one step of tuning has shown."""

    generator: Generator
    seconds_a_token: float  # forward and backward
    seconds_a_step: float  # of the optimiser
    learnt_bytes: int


def _tuning_trial(base: Generator, data: Sequences, settings: TuningSettings, seed: int) -> _TuningTrial:
    """One step on some of the sequences, in chunks as in a real tuning."""
    model = adapted(base, settings, seed)
    model.model.train()
    learning, device = model.learning, base.model.device
    rates = dict.fromkeys(learning, settings.rate)
    plan = Plan(1, settings.batch, rates, weight_decay=settings.weight_decay, clip=settings.clip)
    optimisers = ModuleOptimisers(model.model, plan)
    rows = _from_long_to_short(data.lengths, max(round(TOKENS_TRIED * len(data) / len(data.tokens)), 2))
    start = time.perf_counter()
    for places in chunks(data.lengths[rows], settings.step_tokens):
        tokens, predicted = padded(data, rows[places], whole=settings.loss == "sequence")
        loss = token_loss(model.model, tokens.to(device), predicted.to(device))
        (loss / max(int(predicted.sum()), 1)).backward()  # type: ignore[no-untyped-call]
    learnt = time.perf_counter()
    optimisers.step(1.0)
    stepped = time.perf_counter()
    return _TuningTrial(
        model.tuned(),
        (learnt - start) / int(data.lengths[rows].sum()),
        stepped - learnt,
        sum(parameter.nbytes for parameter in learning.values()),
    )


def corpus_bleu(texts: Sequence[str], targets: Sequence[str]) -> float:
    """Sacrebleu's corpus BLEU, in percent, of each text against its one target."""
    try:
        import sacrebleu
    except ImportError:
        raise MissingExtraError("BLEU", "lm") from None
    return float(sacrebleu.corpus_bleu(list(texts), [list(targets)], force=True).score)


def held_out_bleu(
    pairs: TextPairs,
    write: Callable[[pa.LargeStringArray], Sequence[str]],
    *,
    lower_case: bool,
    most: int = 200,
    seed: int = 0,
) -> float | None:
    """The BLEU of what `write` makes of the sources, at most `most` of them; None without any.

    `write` gives one text a source, empty where it has none. With `lower_case` it writes lower case, and the
    targets are lower-cased too.
    """
    if len(pairs) == 0:
        return None
    if len(pairs) > most:
        pairs = pairs.take(np.sort(stream(seed, "generator/bleu").permutation(len(pairs))[:most]))
    texts = write(pairs.sources)
    if len(texts) != len(pairs):
        raise ValueError(f"{len(texts)} texts written for {len(pairs)} sources")
    targets = [text.lower() if lower_case else text for text in pairs.targets.to_pylist()]
    return corpus_bleu(texts, targets)
