"""Sampling draws from the right distribution, and each row from its own stream."""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import chisquare
from test_beam import END, made, prompts_of

from tailwright.language.sampling import METHOD, drawn, sampled
from tailwright.streams import stream


def test_draws_follow_the_distribution_of_the_likeliest_tokens() -> None:
    shares = torch.tensor([0.05, 0.4, 0.1, 0.3, 0.15])
    draws = torch.from_numpy(np.random.default_rng(0).random(20_000))
    found = drawn(shares.log().expand(20_000, -1), draws, 0.8, 1.0).numpy()
    counts = np.bincount(found, minlength=5)
    assert counts[0] == counts[2] == 0  # 0.4 + 0.3 + 0.15 is the first sum that reaches 0.8
    expected = np.array([0.4, 0.3, 0.15]) / 0.85 * 20_000
    assert chisquare(counts[[1, 3, 4]], expected).pvalue > 0.001


def test_temperature_sharpens_and_flattens() -> None:
    shares = torch.tensor([0.6, 0.4])
    draws = torch.from_numpy(np.random.default_rng(0).random(20_000))
    for temperature in (0.5, 2.0):
        found = drawn(shares.log().expand(20_000, -1), draws, 1.0, temperature).double().mean()
        changed = shares.double() ** (1 / temperature)
        assert abs(float(found - changed[1] / changed.sum())) < 0.015


def test_flat_distributions_reach_beyond_the_first_tokens_looked_at() -> None:
    draws = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    found = drawn(torch.zeros((1000, 1000)), draws, 1.0, 1.0)
    assert sorted(found.tolist()) == list(range(1000))


def test_a_full_draw_stays_within_top_p() -> None:
    logits = torch.tensor([[3.0, 2.0, 1.0, 0.0]])
    assert int(drawn(logits, torch.tensor([1.0 - 2**-53], dtype=torch.float64), 0.5, 1.0)) == 0


def test_a_row_draws_the_same_in_any_batch() -> None:
    model, prompts, rows = made("llama"), prompts_of([5, 9, 2, 9]), [40, 7, 12, 3]
    settings = {"samples": 3, "end": END, "seed": 1, "top_p": 0.95}
    together = sampled(model, prompts, [30] * 4, rows, **settings)
    for prompt, row, expected in zip(prompts, rows, together, strict=True):
        (alone,) = sampled(model, [prompt], [30], [row], **settings)
        assert [one.tokens for one in alone] == [one.tokens for one in expected]


def test_rows_seeds_and_samples_differ() -> None:
    model, prompt = made("llama"), prompts_of([5])[0]
    texts = sampled(model, [prompt] * 2, [30] * 2, [0, 1], samples=2, end=END, seed=0)
    texts += sampled(model, [prompt] * 2, [30] * 2, [0, 1], samples=2, end=END, seed=1)
    assert len({one.tokens for candidates in texts for one in candidates}) == 8


def test_samples_are_those_of_a_literal_loop() -> None:
    """One sequence at a time, the whole of it run for each token."""
    model, prompts, rows, limits = made("gpt2"), prompts_of([4, 8, 6]), [5, 0, 2], [12, 3, 25]
    found = sampled(model, prompts, limits, rows, samples=2, end=END, seed=3, top_p=0.9, temperature=1.3)
    for prompt, row, limit, candidates in zip(prompts, rows, limits, found, strict=True):
        draws = stream(3, METHOD, row).random((max(limits), 2))
        expected = []
        for sample in range(2):
            text: list[int] = []
            score = 0.0
            while len(text) < limit and END not in text:
                logits = model(torch.tensor([[*prompt, *text]])).logits[0, -1].detach().double()
                order = logits.argsort(descending=True)
                shares = (logits / 1.3).softmax(0)[order].numpy()
                kept = int(np.searchsorted(np.cumsum(shares), 0.9)) + 1
                below = np.cumsum(shares[:kept])
                place = int(np.searchsorted(below, draws[len(text), sample] * below[-1], side="right"))
                token = int(order[place])
                score += float(logits.log_softmax(0)[token])
                text.append(token)
            expected.append((tuple(text), score / len(text)))
        expected.sort(key=lambda one: -one[1])
        assert [one.tokens for one in candidates] == [text for text, _ in expected]
        assert np.allclose([one.score for one in candidates], [score for _, score in expected], atol=1e-4)
