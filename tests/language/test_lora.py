"""Low-rank adaptation: what learns, and what is left when it is merged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from tailwright.language.adapting import Adapted, with_lora
from tailwright.language.causal import load_causal
from tailwright.language.settings import TuningSettings
from tailwright.language.tuning import tuned_generator, tuning_folder
from tailwright.store import open_folder

sys.path.insert(0, str(Path(__file__).parent))
from tiny_tuning import copies, settings


@pytest.fixture(params=["gpt2", "llama"])
def folder(request: pytest.FixtureRequest, tiny_gpt2: Path, tiny_llama: Path) -> Path:
    return tiny_gpt2 if request.param == "gpt2" else tiny_llama


def test_the_merged_model_scores_as_the_adapted_one(folder):
    generator = load_causal(folder, separator=None, lower_case=True)
    before = generator.model.get_input_embeddings().weight.detach().clone()
    (new,) = generator.separator
    chosen = TuningSettings(lora_rank=4, lora_alpha=8, lora_dropout=0.5, separator=None)
    adapted = with_lora(generator, chosen, seed=0)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(0)
        for part in adapted.parameters():
            if part.requires_grad:
                part.add_(torch.randn_like(part) * 0.1)
    tokens = torch.tensor([[*generator.tokens("one two"), new, 5, 7]])
    adapted.eval()
    with torch.no_grad():
        expected = adapted(tokens).logits
        plain = Adapted(generator, adapted).tuned().model
        torch.testing.assert_close(plain(tokens).logits, expected, atol=1e-5, rtol=1e-4)
    after = plain.get_input_embeddings().weight
    assert torch.equal(after[:new], before[:new])
    assert not torch.equal(after[new], before[new])
    assert plain.get_output_embeddings().weight is after
    assert not any("lora" in name for name, _ in plain.named_parameters())


def test_only_small_matrices_and_a_new_separator_learn_and_are_kept(folder):
    chosen, pairs = settings("lora", lora_rank=2, separator=None), copies(20)
    tuned_generator(str(folder), pairs, chosen, seed=0)
    kept = open_folder(tuning_folder(str(folder), pairs, chosen, seed=0) / "generator", kind="generator")
    parts = kept.tensors("weights")
    tokens = [array for name, array in parts.items() if "lora_" not in name]
    assert [array.size for array in tokens] == [32]
    assert all(2 in array.shape for name, array in parts.items() if "lora_" in name)


def test_with_a_separator_in_words_no_embedding_learns(folder):
    chosen, pairs = settings("lora", separator=" => "), copies(20)
    tuned = tuned_generator(str(folder), pairs, chosen, seed=0)
    base = load_causal(folder, separator=" => ", lower_case=True)
    assert torch.equal(tuned.model.get_input_embeddings().weight, base.model.get_input_embeddings().weight)
    assert tuned.separator == base.separator
