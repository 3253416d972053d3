"""A deep soft prompt: which numbers it has, what reads them, and that nothing else learns."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_t5 import SENTENCES, digest, passages, tuned
from transformers import T5Config, T5ForConditionalGeneration

from tailwright.language.corruption import Corruption, corruption_loss
from tailwright.language.settings import PromptSettings
from tailwright.language.soft_prompt import PromptedT5, padded_tokens, prompted
from tailwright.language.t5 import Infiller, load_t5


@pytest.fixture
def infiller(tiny_t5: Path) -> Infiller:
    return load_t5(tiny_t5)


def normal(infiller: Infiller, length: int = 4) -> PromptedT5:
    return prompted(infiller, SENTENCES, PromptSettings(length=length, start="normal"), seed=0)


def read(infiller: Infiller, *texts: str) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = infiller.sources([""] * len(texts), [[text] for text in texts])
    return padded_tokens(tokens, infiller.pad, torch.device("cpu"))


@pytest.mark.parametrize(
    ("width", "layers", "expected"), [(512, 6, 15_360), (768, 12, 46_080), (1024, 24, 122_880)]
)
def test_the_numbers_of_a_prompt_of_length_five_are_those_of_the_paper(width, layers, expected):
    with torch.device("meta"):
        t5 = T5ForConditionalGeneration(T5Config(d_model=width, num_layers=layers, d_ff=4, vocab_size=8))
    network = PromptedT5(t5, 5)
    assert network.prompt.numel() == expected
    assert network.vectors.shape == (layers, 5, width)


def test_without_positions_it_is_the_plain_t5(infiller):
    tokens, mask = read(infiller, *SENTENCES)
    target = tokens[:, :7]
    with torch.no_grad():
        plain = infiller.model(input_ids=tokens, attention_mask=mask, decoder_input_ids=target).logits
        assert torch.equal(PromptedT5(infiller.model, 0)(tokens, mask, target), plain)


def test_the_decoder_reads_the_prompt_and_padding_changes_nothing(infiller):
    network = normal(infiller)
    tokens, mask = read(infiller, *SENTENCES)
    target = tokens[:, :7]
    with torch.no_grad():
        hidden, long_mask = network.encode(tokens, mask)
        assert hidden.shape == (len(SENTENCES), 4 + tokens.shape[1], 32)
        assert bool((long_mask[:, :4] == 1).all())
        assert torch.equal(long_mask[:, 4:], mask)
        together = network(tokens, mask, target)
        for place, sentence in enumerate(SENTENCES):
            alone = network(*read(infiller, sentence), target[place : place + 1])
            torch.testing.assert_close(together[place], alone[0], atol=2e-4, rtol=1e-4)
        other = network.decode(hidden.index_fill(1, torch.arange(4), 0.0), long_mask, target)
    assert not torch.allclose(together, other, atol=1e-2)


def test_what_a_layer_makes_of_the_prompt_never_reaches_the_next(infiller):
    network = normal(infiller)
    tokens, mask = read(infiller, *SENTENCES)
    with torch.no_grad():
        before, _ = network.encode(tokens, mask)

        def spoil(_: object, __: object, outputs: tuple) -> tuple:
            hidden = outputs[0].clone()
            hidden[:, :4] = 1e3
            return hidden, *outputs[1:]

        handles = [block.register_forward_hook(spoil) for block in infiller.model.encoder.block[:-1]]
        after, _ = network.encode(tokens, mask)
        for handle in handles:
            handle.remove()
    assert torch.equal(before, after)


def test_every_layer_reads_its_own_vectors(infiller):
    network = normal(infiller)
    seen = []

    def see(_: object, inputs: tuple) -> None:
        seen.append(inputs[0][:, :4].clone())

    tokens, mask = read(infiller, *SENTENCES[:2])
    with torch.no_grad():
        blocks = infiller.model.encoder.block
        handles = [block.layer[0].register_forward_pre_hook(see) for block in blocks]
        network.encode(tokens, mask)
        for handle in handles:
            handle.remove()
    assert torch.equal(torch.stack(seen), network.vectors[:, None].expand(-1, 2, -1, -1))


def test_all_vectors_get_a_gradient_and_the_t5_none(infiller):
    network = normal(infiller)
    network.prompt.requires_grad_(True)
    data = Corruption(infiller, passages(), 0.3, 128, 0)
    corruption_loss(network, infiller, data.pairs(range(5), 0)).backward()
    assert bool((network.prompt.grad.view(network.shape).abs().sum((1, 2)) > 0).all())
    assert all(weight.grad is None for weight in infiller.model.parameters())


@pytest.mark.parametrize("tiny_t5", ["t5", pytest.param("t5-1.1", marks=pytest.mark.slow)], indirect=True)
def test_only_the_prompt_learns_and_the_loss_falls(tiny_t5):
    before = {name: digest(weight.numpy()) for name, weight in load_t5(tiny_t5).model.state_dict().items()}
    network, infiller = tuned(tiny_t5, epochs=30)
    after = {name: digest(weight.numpy()) for name, weight in infiller.model.state_dict().items()}
    assert after == before
    data = Corruption(infiller, passages(), 0.3, 128, 0)
    start = prompted(infiller, passages().texts.to_pylist(), PromptSettings(start_texts=5), seed=5)
    with torch.no_grad():
        loss_before, loss_after = (
            corruption_loss(one, infiller, data.pairs(range(20), 99)) for one in (start, network)
        )
    assert loss_after < 0.95 * loss_before
    assert not network.training
    assert not any(weight.requires_grad for weight in network.parameters())


def test_a_prompt_starts_from_words_and_mean_states(infiller):
    network = prompted(infiller, SENTENCES, PromptSettings(start_texts=5), seed=3)
    embeddings = infiller.model.get_input_embeddings().weight
    for vector in network.vectors[0]:
        assert bool((embeddings == vector).all(1).any())
    tokens, mask = read(infiller, *SENTENCES)
    with torch.no_grad():
        states = infiller.model.encoder(tokens, attention_mask=mask, output_hidden_states=True).hidden_states
    for layer in range(1, network.shape[0]):
        mean = states[layer][mask.bool()].mean(0)
        torch.testing.assert_close(network.vectors[layer], mean.expand(5, -1), atol=1e-4, rtol=1e-4)
    other = prompted(infiller, SENTENCES, PromptSettings(start_texts=5), seed=4)
    assert not torch.equal(network.prompt, other.prompt)
