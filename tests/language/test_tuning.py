"""Tuning on pairs: what is learnt, what gives a loss, and what is kept."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest
import torch

from tailwright.errors import InputError
from tailwright.language import learning, tuning
from tailwright.language.causal import load_causal
from tailwright.language.pairs import padded, sequences_of
from tailwright.language.settings import TuningSettings
from tailwright.language.tuning import generator_key, token_loss, tuned_generator, tuning_folder

sys.path.insert(0, str(Path(__file__).parent))
from tiny_tuning import copies, digest, settings, text_pairs


@pytest.fixture(params=["gpt2", "llama"])
def folder(request: pytest.FixtureRequest, tiny_gpt2: Path, tiny_llama: Path) -> str:
    return str(tiny_gpt2 if request.param == "gpt2" else tiny_llama)


def losses(name: str, pairs, chosen: TuningSettings, seed: int) -> list[float]:
    lines = (tuning_folder(name, pairs, chosen, seed=seed) / "log.jsonl").read_text().splitlines()
    return [line["loss"] for line in map(json.loads, lines) if line["event"] == "epoch"]


def test_a_tiny_model_learns_to_copy(tiny_llama):
    pairs = text_pairs(["red cat", "blue dog", "big sea"] * 8, ["sea big", "tree car", "moon sun"] * 8)
    chosen = dataclasses.replace(settings("full", held_out=0.0, weight_decay=0.0), epochs=40, rate=1e-2)
    generator = tuned_generator(str(tiny_llama), pairs, chosen, seed=0)
    found = losses(str(tiny_llama), pairs, chosen, 0)
    assert found[0] > 4
    assert found[-1] < 0.05
    prompt = torch.tensor([generator.prompt("Blue dog")])
    written = generator.model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20, do_sample=False, pad_token_id=0
    )
    assert generator.text(written[0, prompt.shape[1] :].tolist()) == "tree car"


@pytest.mark.parametrize("kind", ["full", "lora"])
def test_what_is_finished_is_loaded_and_not_tuned_again(folder, kind, monkeypatch):
    pairs, chosen = copies(30), settings(kind)
    first = tuned_generator(folder, pairs, chosen, seed=1)
    place = tuning_folder(folder, pairs, chosen, seed=1)
    assert sorted(path.name for path in place.iterdir()) == ["generator", "log.jsonl"]

    def never(*_: object, **__: object) -> None:
        raise AssertionError("tuned again")

    monkeypatch.setattr(learning, "run_phases", never)
    again = tuned_generator(folder, pairs, chosen, seed=1)
    assert digest(again) == digest(first)
    assert not again.model.training
    assert not any(part.requires_grad for part in again.model.parameters())
    with pytest.raises(AssertionError, match="tuned again"):
        tuned_generator(folder, pairs, chosen, seed=2)


def test_a_damaged_generator_is_tuned_anew_to_the_same_weights(tiny_llama, caplog):
    pairs, chosen = copies(20), settings("full")
    first = digest(tuned_generator(str(tiny_llama), pairs, chosen, seed=1))
    kept = tuning_folder(str(tiny_llama), pairs, chosen, seed=1) / "generator" / "weights.safetensors"
    kept.write_bytes(kept.read_bytes()[:-4] + b"\0\0\0\1")
    assert digest(tuned_generator(str(tiny_llama), pairs, chosen, seed=1)) == first
    assert "tuned anew" in caplog.text


def test_the_key_follows_all_that_matters_and_nothing_else(tiny_llama, tiny_gpt2):
    pairs, chosen = copies(5), TuningSettings()
    name = str(tiny_llama)
    keys = {
        generator_key(name, pairs, chosen, seed=0),
        generator_key(name, pairs, chosen, seed=1),
        generator_key(str(tiny_gpt2), pairs, chosen, seed=0),
        generator_key(name, copies(6), chosen, seed=0),
        generator_key(name, pairs, dataclasses.replace(chosen, rate=2e-4), seed=0),
        generator_key("scratch", pairs, chosen, seed=0),
    }
    assert len(keys) == 6
    later = dataclasses.replace(chosen, checkpoint_seconds=7)
    assert generator_key(name, pairs, later, seed=0) in keys


@pytest.mark.parametrize("whole", [False, True])
def test_loss_and_gradients_equal_those_of_all_scores(folder, whole):
    generator = load_causal(Path(folder), separator=None, lower_case=True)
    data = sequences_of(generator, copies(6), longest=128)
    tokens, predicted = padded(data, torch.arange(6).numpy(), whole=whole)
    ours = token_loss(generator.model, tokens, predicted)
    ours.backward()
    gradients = {name: part.grad.clone() for name, part in generator.model.named_parameters()}
    generator.model.zero_grad()

    mask = torch.arange(tokens.shape[1]) < torch.from_numpy(data.lengths)[:, None]
    scores = generator.model(tokens, attention_mask=mask.long()).logits[:, :-1]
    each = torch.nn.functional.cross_entropy(
        scores.reshape(-1, scores.shape[-1]), tokens[:, 1:].reshape(-1), reduction="none"
    )
    plain = (each * predicted[:, 1:].reshape(-1)).sum()
    plain.backward()
    torch.testing.assert_close(ours, plain)
    for name, part in generator.model.named_parameters():
        torch.testing.assert_close(gradients[name], part.grad, msg=name)


def test_the_source_gives_a_loss_only_where_the_whole_sequence_counts(tiny_llama):
    generator = load_causal(tiny_llama, separator=None, lower_case=True)
    data = sequences_of(generator, text_pairs(["one two three"], ["four five"]), longest=128)
    tokens, target = padded(data, torch.arange(1).numpy(), whole=False)
    _, whole = padded(data, torch.arange(1).numpy(), whole=True)
    (row,) = tokens.tolist()
    assert (
        generator.text([token for token, counts in zip(row, target[0], strict=True) if counts]) == "four five"
    )
    assert row[-1] == generator.end
    assert bool(target[0, -1])
    assert whole[0].tolist() == [False] + [True] * (len(row) - 1)


def test_parts_of_a_batch_give_the_gradient_of_the_whole(tiny_llama):
    pairs = copies(24)
    at_once, in_parts = (
        tuned_generator(str(tiny_llama), pairs, settings("full", step_tokens=tokens), seed=0)
        for tokens in (1 << 20, 40)
    )
    for one, other in zip(at_once.model.parameters(), in_parts.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=2e-4, rtol=1e-3)


def test_dropout_follows_the_seed_and_leaves_torchs_generator_alone(tiny_gpt2):
    pairs = copies(20)
    torch.manual_seed(1)
    first = digest(tuned_generator(str(tiny_gpt2), pairs, settings("full"), seed=0))
    state = torch.random.get_rng_state()
    torch.manual_seed(2)
    before = torch.random.get_rng_state()
    place = tuning_folder(str(tiny_gpt2), pairs, settings("full"), seed=0)
    (place / "generator").rename(place / "other")
    assert digest(tuned_generator(str(tiny_gpt2), pairs, settings("full"), seed=0)) == first
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not torch.equal(state, before)


def test_the_best_weights_on_held_out_pairs_are_kept(tiny_llama, monkeypatch):
    pairs = copies(40)
    chosen = dataclasses.replace(settings("full", held_out=0.25), epochs=4, patience=1)
    qualities = iter([0.1, 0.9, 0.5, 0.7])
    monkeypatch.setattr(tuning._Tuning, "validate", lambda self: next(qualities))
    stopped = tuned_generator(str(tiny_llama), pairs, chosen, seed=0)
    assert len(losses(str(tiny_llama), pairs, chosen, 0)) == 3
    place = tuning_folder(str(tiny_llama), pairs, chosen, seed=0)
    epochs = [json.loads(line) for line in (place / "log.jsonl").read_text().splitlines()]
    assert [line["valid"] for line in epochs if line["event"] == "epoch"] == [0.1, 0.9, 0.5]
    assert next(qualities) == 0.7
    assert stopped.lower_case


def test_no_pairs_are_an_error(tiny_llama):
    with pytest.raises(InputError, match="no pairs to tune a generator on"):
        tuned_generator(str(tiny_llama), text_pairs([], []), TuningSettings(), seed=0)


def test_one_pair_and_empty_texts_are_fine(folder):
    generator = tuned_generator(folder, text_pairs([""], [""]), settings("full"), seed=0)
    assert all(bool(torch.isfinite(part).all()) for part in generator.model.parameters())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs must be in [1, 1000000], got 0"),
        ({"rate": 0.0}, "rate must be in (0, 1000], got 0.0"),
        ({"held_out": 1.0}, "held_out must be in [0, 1), got 1.0"),
        ({"loss": "all"}, "loss must be one of target, sequence, got 'all'"),
        ({"max_tokens": 3}, "max_tokens must be >= 16, got 3"),
        ({"scratch_vocabulary": 9000}, "scratch_vocabulary must be in [300, 8000], got 9000"),
        ({"separator": ""}, "separator must be text or none, got ''"),
    ],
)
def test_a_wrong_setting_names_its_field_and_value(change, message):
    with pytest.raises(ValueError) as caught:
        TuningSettings(**change)
    assert str(caught.value) == message


def test_tuning_prints_nothing(folder, capfd):
    tuned_generator(folder, copies(12), settings("lora"), seed=0)
    assert capfd.readouterr() == ("", "")
