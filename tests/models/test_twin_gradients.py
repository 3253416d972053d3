"""The gradients that twin computes by hand are those of torch, and those of differences."""

from __future__ import annotations

import numpy as np
import plain_losses
import pytest
import torch
from scipy import sparse
from torch.nn import functional

from tailwright.encoders.bags import Bags
from tailwright.models.twin.network import TwinNetwork
from tailwright.streams import stream

WORDS, WIDTH, ROWS, ALL_LABELS = 12, 6, 5, 9
LABELS = np.array([0, 2, 3, 5, 8], dtype=np.int32)  # those that the batch shares
DRAWS = stream(0, "test/twin")
TEXTS, LABEL_TEXTS = (
    np.abs(DRAWS.normal(size=(rows, WORDS))).astype(np.float32) * (DRAWS.random((rows, WORDS)) < 0.4)
    for rows in (ROWS, ALL_LABELS)
)  # (rows, words): bags
LABEL_TEXTS[3] = 0  # a label of which only the free vector is known
DISCOUNT = -np.abs(DRAWS.normal(size=len(LABELS))).astype(np.float32)
TARGETS = plain_losses.batch_targets(
    np.array([[1.0, 0, 0, 0.5, 0], [0, 1, 0, 0, 0], [0, 0, 0.3, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]),
    np.array([[0, 1, 0, 0, 0], [0] * 5, [0] * 5, [1] * 5, [0] * 5]),
    np.array([1.0, 2.0, 0.5, 1.0, 1.0]),
)


def bags_of(rows: np.ndarray) -> Bags:
    return Bags.of(sparse.csr_array(rows))


def network() -> TwinNetwork:
    """A network whose every parameter has a gradient."""
    draws = stream(1, "test/twin")
    words, free = (draws.normal(size=(n, WIDTH)).astype(np.float32) for n in (WORDS, ALL_LABELS))
    made = TwinNetwork(words, free, bags_of(LABEL_TEXTS), scale=3.0)
    for layer in (made.text_layer, made.label_layer):
        layer += draws.normal(0, 0.5, layer.shape).astype(np.float32)
    return made


def by_torch(made: TwinNetwork) -> tuple[float, dict[str, np.ndarray]]:
    """The loss and the gradients of whole arrays in double precision."""
    leaves = {
        name: torch.tensor(array, dtype=torch.float64, requires_grad=True)
        for name, array in made.weights().items()
    }
    words, free, text_layer, label_layer, log_scale = leaves.values()

    texts, labels = (torch.from_numpy(bags).double() @ words for bags in (TEXTS, LABEL_TEXTS))
    text = functional.normalize(texts + torch.relu(texts) @ text_layer, dim=1)
    label = functional.normalize(labels + torch.relu(labels) @ label_layer + free, dim=1)[LABELS]
    scores = log_scale.exp() * (text @ label.T)
    loss = plain_losses.decoupled_softmax(scores, TARGETS, torch.from_numpy(DISCOUNT).double())
    loss.backward()
    return loss.item(), {name: leaf.grad.numpy() for name, leaf in leaves.items()}


def by_hand(made: TwinNetwork) -> tuple[float, dict[str, np.ndarray]]:
    """The same by the network itself; rows of a table that it does not name have no gradient."""
    loss = made.loss(bags_of(TEXTS), LABELS, TARGETS, DISCOUNT)
    gradients = dict(loss.dense)
    for name, (rows, gradient) in loss.tables.items():
        gradients[name] = np.zeros_like(made.tables[name])
        gradients[name][rows] = gradient
    return loss.value, gradients


def test_loss_and_gradients_are_those_of_torch():
    expected, expected_gradients = by_torch(network())
    value, gradients = by_hand(network())
    assert value == pytest.approx(expected, rel=1e-5)
    assert gradients.keys() == expected_gradients.keys()
    for name, gradient in gradients.items():
        assert np.abs(gradient).max() > 0
        np.testing.assert_allclose(gradient, expected_gradients[name], rtol=1e-3, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", ["words", "free", "text_layer", "label_layer", "log_scale"])
def test_gradients_are_those_of_differences(name):
    """Along the gradient itself, where a difference is the largest."""
    gradient = by_hand(network())[1][name]
    length = float(np.linalg.norm(gradient))
    losses = []
    for step in (0.01, -0.01):
        moved = network()
        array = moved.weights()[name]
        array += np.float32(step / length) * gradient
        losses.append(by_hand(moved)[0])
    assert (losses[0] - losses[1]) / 0.02 == pytest.approx(length, rel=2e-2)


def test_a_batch_without_rows_changes_nothing():
    none = np.zeros((0, WORDS), dtype=np.float32)
    empty = plain_losses.batch_targets(np.zeros((0, 5)), np.zeros((0, 5)), np.zeros(0))
    loss = network().loss(bags_of(none), LABELS, empty, DISCOUNT)
    assert loss.value == 0
    assert not any(gradient.any() for gradient in loss.dense.values())
    assert not any(gradient.any() for _, gradient in loss.tables.values())
