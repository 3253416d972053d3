"""Loading causal language models from folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from tailwright.errors import InputError
from tailwright.language.causal import SEPARATOR, load_causal


@pytest.fixture(params=["gpt2", "llama"])
def folder(request: pytest.FixtureRequest, tiny_gpt2: Path, tiny_llama: Path) -> Path:
    return tiny_gpt2 if request.param == "gpt2" else tiny_llama


def test_the_separator_is_a_new_token_that_starts_as_the_mean_of_all_others(folder):
    generator = load_causal(folder, separator=None, lower_case=True)
    (separator,) = generator.separator
    table = generator.model.get_input_embeddings().weight
    assert separator == table.shape[0] - 1 == len(generator.tokenizer) - 1
    assert generator.model.config.vocab_size == len(generator.tokenizer)
    torch.testing.assert_close(table[separator], table[:separator].mean(dim=0))
    assert generator.model.get_output_embeddings().weight is table
    assert generator.positions == 128
    assert generator.end == generator.tokenizer.eos_token_id


def test_a_separator_in_words_adds_no_token(folder):
    plain = load_causal(folder, separator=" => ", lower_case=True)
    assert plain.tokenizer.decode(plain.separator) == " => "
    assert SEPARATOR not in plain.tokenizer.get_vocab()


def test_names_of_special_tokens_within_a_text_are_text(folder):
    generator = load_causal(folder, separator=None, lower_case=False)
    text = f"a{SEPARATOR}b<|endoftext|>c"
    tokens = generator.tokens(text)
    assert not {generator.end, *generator.separator} & set(tokens)
    assert generator.text(tokens) == text


def test_a_tokenizer_without_an_end_gets_one(tmp_path, tiny_llama):
    folder = shutil.copytree(tiny_llama, tmp_path / "model")
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "eos_token"}))
    generator = load_causal(folder, separator=None, lower_case=True)
    assert generator.tokenizer.eos_token == "<|end|>"
    assert generator.end not in generator.separator
    assert generator.model.get_input_embeddings().weight.shape[0] == len(generator.tokenizer)


def test_truncated_weights_are_one_line(tmp_path, folder):
    broken = shutil.copytree(folder, tmp_path / "broken")
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"broken: cannot be loaded \(") as caught:
        load_causal(broken, separator=None, lower_case=True)
    assert "\n" not in str(caught.value)


def test_weights_that_lack_a_tensor_are_refused(tmp_path, folder):
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(folder, tmp_path / "broken")
    tensors = load_file(broken / "model.safetensors")
    del tensors[next(name for name in sorted(tensors) if "ln_f" in name or "model.norm" in name)]
    save_file(tensors, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"weights lack [12] tensors of the model, such as"):
        load_causal(broken, separator=None, lower_case=True)


def test_loading_prints_nothing(folder, capfd):
    load_causal(folder, separator=None, lower_case=True)
    assert capfd.readouterr() == ("", "")
