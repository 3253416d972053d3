"""A configuration that asks for the network, or for more than there is, builds nothing."""

from __future__ import annotations

import json
import socket

import pytest
from tiny_encoders import save_tiny

from tailwright.encoders.configuration import TYPES, check_configuration, check_parameters
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.store import DamagedFolderError, open_folder, writing
from tailwright.training.weights import save_weights


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return TransformerEncoder.pretrained(
        str(save_tiny(tmp_path_factory.mktemp("tiny"), "bert", layers=1)), "first"
    )


@pytest.fixture
def no_network(monkeypatch):
    def refused(*arguments, **options):
        pytest.fail("asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)


def load_with(encoder, place, change, max_tokens=9):
    """What comes of loading a saved encoder whose configuration was changed."""
    with writing(place, kind="run", overwrite=True) as folder:
        inner = folder.sub("encoder")
        inner.json("encoder.json", {"kind": "first", "max_tokens": max_tokens})
        inner.json("config.json", {**encoder._configuration(), **change})
        encoder.tokenizer.save(inner.sub("tokenizer"))
        save_weights(folder, "network", encoder)
    return TransformerEncoder.load(open_folder(place, kind="run").sub("encoder"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"model_type": "detr", "backbone": "resnet50", "use_pretrained_backbone": True},
            "model type 'detr'",
        ),
        ({"model_type": "upernet", "backbone": "microsoft/resnet-50"}, "model type 'upernet'"),
        ({"model_type": "dpt", "backbone": "resnet50"}, "model type 'dpt'"),
        ({"model_type": ["bert"]}, "model type"),
        ({"backbone": "resnet50"}, "backbone asks for parts"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config asks for parts"),
        ({"num_hidden_layers": 1_000_000}, "num_hidden_layers is 1000000, more than 256"),
        ({"vocab_size": 10**9}, "vocab_size is 1000000000, more than 16777216"),
        ({"num_hidden_layers": 48}, "the configuration asks for"),
        ({"hidden_size": 4096, "intermediate_size": 65536}, "the configuration asks for"),
        ({"hidden_size": -8}, "no encoder"),
        ({"hidden_size": "wide"}, "no encoder"),
    ],
)
def test_a_hostile_configuration_is_refused_in_one_line_offline(encoder, tmp_path, no_network, change, said):
    with pytest.raises(DamagedFolderError) as refused:
        load_with(encoder, tmp_path / "run", change)
    line = str(refused.value)
    assert said in line
    assert line.startswith(f"{tmp_path / 'run' / 'encoder'}: no encoder (")
    assert "\n" not in line


@pytest.mark.parametrize("max_tokens", [1.5, True, 2, 9.5, "9", None])
def test_an_encoder_that_cannot_read_a_text_is_refused(encoder, tmp_path, max_tokens):
    with pytest.raises(DamagedFolderError, match=r"encoder: no encoder \("):
        load_with(encoder, tmp_path / "run", {}, max_tokens)


@pytest.mark.parametrize("chunk", [None, "x", 1.5, [], 4])
def test_how_much_of_a_text_a_layer_reads_at_a_time_is_not_taken_from_a_configuration(
    encoder, tmp_path, chunk
):
    loaded = load_with(encoder, tmp_path / "run", {"chunk_size_feed_forward": chunk})
    assert loaded.model.config.chunk_size_feed_forward == 0


def test_a_configuration_that_says_the_truth_is_loaded(encoder, tmp_path, no_network):
    loaded = load_with(encoder, tmp_path / "run", {})
    assert json.dumps(loaded._configuration()) == json.dumps(encoder._configuration())


def test_sizes_in_lists_and_objects_are_looked_at_too():
    for value in ({"a": {"num_layers": 1000}}, {"block_sizes": [1, 10**9]}):
        with pytest.raises(ValueError, match="more than"):
            check_configuration({"model_type": "bert", **value})


def test_a_model_has_no_more_parameters_than_its_weights():
    check_parameters(1000, 2000)
    with pytest.raises(ValueError, match="asks for 1,001 parameters, the weights have 1,000 at most"):
        check_parameters(1001, 2000)


def test_the_types_are_those_that_transformers_builds_without_asking():
    assert {"bert", "roberta", "distilbert", "xlm-roberta", "mpnet", "deberta-v2"} <= TYPES
    assert not TYPES & {
        "detr",
        "upernet",
        "dpt",
        "timm_backbone",
        "vision-encoder-decoder",
        "encoder-decoder",
    }
