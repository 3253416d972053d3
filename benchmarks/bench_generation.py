"""Our beam search and sampling against `generate` of transformers: rows and tokens a second, and the texts.

    .venv/bin/python benchmarks/bench_generation.py [--rows N] [--pairs N] [--generator NAME] [--beams N]
        [--batch-rows N ...] [--max-new-tokens N] [--repeats N] [--threads N] [--corpus NAME ...]

N sources each of tibkat-keywords-titles (short) and cve-libraries (long), in batches by length. The
generator, SmolLM2 unless another is named, is tuned on N pairs of the same corpus first, or taken as it is
with `--pairs 0`. Both get the same prompts in the same batches and the same limits, and are timed in turn.
`same_best` is the share of rows whose best beam is the same, `same_beams` that of all beams. Samples cannot
be the same, as transformers draws from torch's own stream; so compare their tokens a second.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import common
import torch

Prompts = list[list[int]]
Texts = list[list[tuple[int, ...]]]


def by_transformers(
    generator: Any, prompts: Prompts, limits: Sequence[int], count: int, **settings: Any
) -> Texts:
    """`count` continuations of each prompt, padded on the left as `generate` wants it."""
    longest = max(map(len, prompts))
    tokens = torch.zeros((len(prompts), longest), dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for row, prompt in enumerate(prompts):
        tokens[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask[row, longest - len(prompt) :] = 1
    found = generator.model.generate(
        tokens,
        attention_mask=mask,
        num_return_sequences=count,
        max_new_tokens=max(limits),
        eos_token_id=generator.end,
        pad_token_id=generator.end,
        **settings,
    )[:, longest:].tolist()
    ended = [
        tuple(text[: text.index(generator.end) + 1] if generator.end in text else text) for text in found
    ]
    return [ended[start : start + count] for start in range(0, len(ended), count)]


def generator_and_sources(name: str, arguments: argparse.Namespace) -> tuple[Any, Sequence[str]]:
    import tailwright
    from tailwright.augmentation.shared.sources import SourceSettings
    from tailwright.augmentation.shared.text_pairs import PairSettings, pairs_and_sources
    from tailwright.language.causal import load_causal
    from tailwright.language.pairs import TextPairs
    from tailwright.language.settings import TuningSettings
    from tailwright.language.tuning import tuned_generator
    from tailwright.pretrained import weights_folder

    corpus = tailwright.read(common.data_folder() / name)
    texts = corpus.train.texts
    selection = SourceSettings(rows="all", max_rows=arguments.rows)
    found = pairs_and_sources(corpus, selection, PairSettings(max_pairs=arguments.pairs or 1), seed=0)
    sources = texts.take(found.sources).to_pylist()
    if not arguments.pairs:
        return load_causal(weights_folder(arguments.generator), separator=" =>", lower_case=True), sources
    pairs = TextPairs(texts.take(found.firsts), texts.take(found.seconds))
    return tuned_generator(arguments.generator, pairs, TuningSettings(), seed=0), sources


def batches(
    generator: Any, sources: Sequence[str], rows: int, max_new_tokens: int
) -> list[tuple[Prompts, list[int]]]:
    """Prompts with the limits of their targets, sorted by length, so many at a time."""
    from tailwright.language.settings import DecodingSettings

    settings = DecodingSettings(max_new_tokens=max_new_tokens)
    prompts = sorted((generator.prompt(source) for source in sources), key=len)
    limits = [
        settings.new_tokens(len(prompt) - len(generator.separator), generator.positions) for prompt in prompts
    ]
    return [
        # One limit a batch, as `generate` has but one.
        (
            prompts[start : start + rows],
            [max(limits[start : start + rows])] * len(prompts[start : start + rows]),
        )
        for start in range(0, len(prompts), rows)
    ]


def compared(
    work: list[tuple[Prompts, list[int]]],
    ways: dict[str, Callable[[Prompts, list[int]], Texts]],
    repeats: int,
) -> tuple[dict[str, Any], dict[str, Texts]]:
    texts: dict[str, Texts] = {}

    def run(way: str) -> Callable[[], None]:
        def whole() -> None:
            texts[way] = [found for prompts, limits in work for found in ways[way](prompts, limits)]

        return whole

    seconds = common.interleaved({way: run(way) for way in ways}, repeats)
    tokens = {way: sum(len(text) for found in texts[way] for text in found) for way in ways}
    result: dict[str, Any] = {
        way: {
            "seconds": round(taken, 1),
            "rows_a_second": round(len(texts[way]) / taken, 3),
            "tokens_a_second": round(tokens[way] / taken, 1),
        }
        for way, taken in seconds.items()
    }
    quicker = seconds["transformers"] / seconds["tailwright"]
    result["rows_ratio"] = round(quicker, 2)
    result["tokens_ratio"] = round(quicker * tokens["tailwright"] / tokens["transformers"], 2)
    return result, texts


def measured(generator: Any, sources: Sequence[str], arguments: argparse.Namespace) -> dict[str, Any]:
    from tailwright.language.beam import beam_search
    from tailwright.language.sampling import sampled
    from tailwright.language.settings import DecodingSettings

    defaults = DecodingSettings()
    beams, samples = arguments.beams, defaults.samples
    drawing = {"top_p": defaults.top_p, "temperature": defaults.temperature}

    def our_beams(prompts: Prompts, limits: list[int]) -> Texts:
        found = beam_search(generator.model, prompts, limits, beams=beams, end=generator.end)
        return [[one.tokens for one in texts] for texts in found]

    def their_beams(prompts: Prompts, limits: list[int]) -> Texts:
        return by_transformers(
            generator, prompts, limits, beams, num_beams=beams, do_sample=False, early_stopping=False
        )

    def our_samples(prompts: Prompts, limits: list[int]) -> Texts:
        rows = range(len(prompts))
        found = sampled(
            generator.model, prompts, limits, rows, samples=samples, end=generator.end, seed=0, **drawing
        )
        return [[one.tokens for one in texts] for texts in found]

    def their_samples(prompts: Prompts, limits: list[int]) -> Texts:
        return by_transformers(generator, prompts, limits, samples, do_sample=True, top_k=0, **drawing)

    result: dict[str, Any] = {}
    for rows in arguments.batch_rows:
        work = batches(generator, sources, rows, arguments.max_new_tokens)
        beam, texts = compared(
            work, {"tailwright": our_beams, "transformers": their_beams}, arguments.repeats
        )
        both = list(zip(texts["tailwright"], texts["transformers"], strict=True))
        beam["same_best"] = round(sum(ours[0] == theirs[0] for ours, theirs in both) / len(both), 3)
        beam["same_beams"] = round(
            sum(one == other for ours, theirs in both for one, other in zip(ours, theirs, strict=True))
            / (len(both) * beams),
            3,
        )
        sampling, _ = compared(
            work, {"tailwright": our_samples, "transformers": their_samples}, arguments.repeats
        )
        result[f"batches of {rows}"] = {f"beam {beams}": beam, f"sampling {samples}": sampling}
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--pairs", type=int, default=256)
    parser.add_argument("--generator", default="smollm2")
    parser.add_argument("--beams", type=int, default=10)
    parser.add_argument("--batch-rows", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--corpus", nargs="+", default=["tibkat-keywords-titles", "cve-libraries"])
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    result: dict[str, Any] = {}
    for name in arguments.corpus:
        generator, sources = generator_and_sources(name, arguments)
        tokens = [len(generator.prompt(source)) for source in sources]
        result[name] = {
            "sources": len(sources),
            "prompt_tokens": round(sum(tokens) / len(tokens), 1),
            **measured(generator, sources, arguments),
        }
    settings = {
        "generator": arguments.generator,
        "pairs": arguments.pairs,
        "threads": torch.get_num_threads(),
    }
    common.emit("generation", {**settings, **result})


if __name__ == "__main__":
    main()
