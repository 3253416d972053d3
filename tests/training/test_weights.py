"""The weights of a network by name, as its state has them, and which of them a plan trains."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.store import DamagedFolderError, open_folder, writing
from tailwright.training.module_network import parameter_names
from tailwright.training.named_arrays import rates_by_name
from tailwright.training.weights import load_weights, put_weights, save_weights, weights_of


class Small(nn.Module):
    """A table that two modules share, a layer, a lasting buffer and one that is made anew."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__()
        words = RowTable(np.full((3, 2), value, dtype=np.float32))
        self.first, self.second = nn.ModuleDict({"words": words}), nn.ModuleDict({"words": words})
        self.layer = nn.Linear(2, 1)
        self.register_buffer("seen", torch.full((2,), value))
        self.register_buffer("positions", torch.arange(4), persistent=False)


NAMES = {"first.words.weight", "layer.weight", "layer.bias", "seen"}


def test_weights_are_parameters_and_lasting_buffers_each_once():
    network = Small()
    weights = weights_of(network)
    assert weights.keys() == NAMES
    assert weights_of(network, {"seen"}).keys() == {"seen"}
    put_weights(network, {"first.words.weight": np.ones((3, 2), dtype=np.float32)})
    assert (weights["first.words.weight"] == 1).all()  # the same memory
    assert (network.second["words"].array == 1).all()


def test_saved_weights_are_loaded_into_a_network_of_the_same_shape(tmp_path):
    network, other = Small(2.0), Small()
    with writing(tmp_path / "run", kind="run") as folder:
        save_weights(folder, "network", network)
    load_weights(open_folder(tmp_path / "run", kind="run"), "network", other)
    wanted = weights_of(network)
    assert all(np.array_equal(weight, wanted[name]) for name, weight in weights_of(other).items())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("seen", np.array([1, np.nan], np.float32), "seen of float32, expected finite float32"),
        ("layer.bias", np.ones(1), "layer.bias of float64, expected finite float32"),
        ("layer.bias", np.ones(2, np.float32), "layer.bias"),
    ],
)
def test_weights_that_cannot_be_those_of_the_network_are_damage(tmp_path, name, value, message):
    with writing(tmp_path / "run", kind="run") as folder:
        folder.tensors("network", {**weights_of(Small()), name: value})
    with pytest.raises(DamagedFolderError, match=rf"network\.safetensors.*{message}"):
        load_weights(open_folder(tmp_path / "run", kind="run"), "network", Small())


def test_the_longest_name_says_the_rate_and_none_freezes():
    network = Small()
    assert rates_by_name(parameter_names(network), {"layer": 0.1, "layer.bias": None}) == {
        "layer.weight": 0.1
    }
    assert rates_by_name(parameter_names(network), {"first": 0.3, "layer.bias": 0.2}) == {
        "first.words.weight": 0.3,
        "layer.bias": 0.2,
    }
    with pytest.raises(ValueError, match="the plan trains 'lay', which is no parameter of the network"):
        rates_by_name(parameter_names(network), {"layer": 0.1, "lay": 0.1})
