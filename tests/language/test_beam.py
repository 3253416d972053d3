"""Beam search finds what transformers' own finds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)

from tailwright.errors import InputError
from tailwright.language.beam import Continuation, beam_search
from tailwright.language.cached_sequences import CachedSequences, places_of

VOCABULARY, END = 120, 5
SMALL = {
    "vocab_size": VOCABULARY,
    "bos_token_id": END,
    "eos_token_id": END,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 96,
}
MODELS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=96,
            n_embd=32,
            n_layer=2,
            n_head=2,
            bos_token_id=END,
            eos_token_id=END,
        )
    ),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(num_key_value_heads=2, **SMALL)),
    "gpt-neox": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**SMALL)),
    "mistral with a window": lambda: MistralForCausalLM(
        MistralConfig(num_key_value_heads=2, sliding_window=8, **SMALL)
    ),
}


def made(name: str) -> Any:
    """A model whose opinions are strong and that ends a text every ten tokens or so."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = MODELS[name]().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.mul_(6.0)
    head = model.get_output_embeddings()

    def ends_more_often(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        more = torch.zeros(output.shape[-1])
        more[END] = 2.5
        return output + more

    head.register_forward_hook(ends_more_often)
    return model


def prompts_of(lengths: list[int], seed: int = 0) -> list[list[int]]:
    draw = random.Random(seed)
    return [[draw.randrange(6, VOCABULARY) for _ in range(length)] for length in lengths]


def by_transformers(
    model: Any, prompts: list[list[int]], limit: int, beams: int, length_penalty: float, end: int = END
) -> list[list[Continuation]]:
    longest = max(map(len, prompts))
    tokens = torch.zeros((len(prompts), longest), dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for row, prompt in enumerate(prompts):
        tokens[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask[row, longest - len(prompt) :] = 1
    found = model.generate(
        tokens,
        attention_mask=mask,
        num_beams=beams,
        num_return_sequences=beams,
        max_new_tokens=limit,
        do_sample=False,
        early_stopping=False,
        length_penalty=length_penalty,
        eos_token_id=end,
        pad_token_id=end,
        return_dict_in_generate=True,
        output_scores=True,
    )
    texts = found.sequences[:, longest:].tolist()
    texts = [text[: text.index(end) + 1] if end in text else text for text in texts]
    candidates = [
        Continuation(tuple(text), score)
        for text, score in zip(texts, found.sequences_scores.tolist(), strict=True)
    ]
    return [candidates[start : start + beams] for start in range(0, len(candidates), beams)]


def assert_same(found: list[list[Continuation]], expected: list[list[Continuation]]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert [one.tokens for one in ours] == [one.tokens for one in theirs]
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-4)


@pytest.mark.parametrize("lengths", [[9] * 6, [3, 14, 1, 8, 8, 20]], ids=["equal", "unequal"])
@pytest.mark.parametrize("length_penalty", [1.0, 0.0, 2.0])
@pytest.mark.parametrize("name", MODELS)
def test_beams_are_those_of_transformers(name: str, length_penalty: float, lengths: list[int]) -> None:
    model, prompts = made(name), prompts_of(lengths)
    for beams in (2, 10):
        expected = by_transformers(model, prompts, 40, beams, length_penalty)
        found = beam_search(
            model, prompts, [40] * len(prompts), beams=beams, end=END, length_penalty=length_penalty
        )
        assert_same(found, expected)


@pytest.mark.parametrize("name", MODELS)
def test_prompts_end_at_different_times_in_what_is_compared(name: str) -> None:
    found = beam_search(made(name), prompts_of([9] * 6), [40] * 6, beams=10, end=END)
    assert len({len(text.tokens) for texts in found for text in texts}) > 2
    assert any(texts[0].tokens[-1] == END for texts in found)


@pytest.mark.parametrize("name", MODELS)
def test_one_beam_is_the_greedy_way(name: str) -> None:
    model, prompts = made(name), prompts_of([4, 9, 9, 2])
    found = beam_search(model, prompts, [30] * 4, beams=1, end=END)
    for prompt, (text,) in zip(prompts, found, strict=True):
        expected = model.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=30, eos_token_id=END, pad_token_id=END
        )
        assert list(text.tokens) == expected[0, len(prompt) :].tolist()


def test_a_prompt_finds_the_same_alone_and_in_a_batch() -> None:
    model, prompts = made("llama"), prompts_of([3, 14, 1, 8])
    together = beam_search(model, prompts, [40] * 4, beams=5, end=END)
    for prompt, expected in zip(prompts, together, strict=True):
        assert_same(beam_search(model, [prompt], [40], beams=5, end=END), [expected])


def test_each_prompt_has_its_own_limit() -> None:
    model, prompts = made("gpt2"), prompts_of([6, 6, 6])
    together = beam_search(model, prompts, [1, 7, 40], beams=4, end=END)
    for prompt, limit, expected in zip(prompts, [1, 7, 40], together, strict=True):
        assert_same([expected], by_transformers(model, [prompt], limit, 4, 1.0))
        assert all(len(text.tokens) <= limit for text in expected)


def test_more_beams_than_the_vocabulary_can_feed_are_one_line() -> None:
    with pytest.raises(InputError, match="beams is 61, expected at most 60"):
        beam_search(made("gpt2"), prompts_of([3]), [4], beams=61, end=END)


def test_continued_sequences_have_the_logits_of_whole_ones() -> None:
    model, prompts = made("llama"), prompts_of([7, 3, 5])
    growing = CachedSequences(model, prompts)
    with torch.inference_mode():
        growing.spread(2)
        texts = [list(prompt) for prompt in prompts for _ in range(2)]
        draw = random.Random(0)
        for step in range(40):  # past the first room for new tokens
            new = [draw.randrange(VOCABULARY) for _ in texts]
            parents = [i // 2 * 2 + draw.randrange(2) for i in range(len(texts))]
            if step == 20:
                going_on = torch.tensor([False, True, True])
                growing.leave(places_of(going_on), 2)
                texts, new, parents = texts[4:6] + texts[2:4], new[:4], parents[:4]
            texts = [[*texts[parent], token] for parent, token in zip(parents, new, strict=True)]
            logits = growing.step(torch.tensor(new), torch.tensor(parents))
        for text, row in zip(texts, logits, strict=True):
            assert torch.allclose(row, model(torch.tensor([text])).logits[0, -1], atol=1e-3)


@pytest.mark.slow
def test_beams_of_a_real_model_are_those_of_transformers() -> None:
    """On SmolLM2, with its whole vocabulary and prompts as long as titles are."""
    from tailwright.language.causal import load_causal
    from tailwright.pretrained import weights_folder

    try:
        folder = weights_folder("smollm2")
    except InputError as missing:
        pytest.skip(str(missing))
    generator = load_causal(folder, separator=".", lower_case=True)
    titles = (
        "Recent trends in the statistics of investors",
        "Nuclear energy and the law",
        "A history of glass",
    )
    prompts = [generator.prompt(title) for title in titles]
    expected = by_transformers(generator.model, prompts, 12, 10, 1.0, generator.end)
    found = beam_search(generator.model, prompts, [12] * 3, beams=10, end=generator.end)
    assert_same(found, expected)
