"""New heads on a fixed batch give the losses and gradients that they have always given."""

from __future__ import annotations

import pytest
import torch
from plain_heads import CASES, LISTS, some_targets

# For all labels, then for lists: the loss, the norms of the gradients of what is read and of label vectors.
KNOWN = {
    "label-specific": [0.59909111, 0.01757741, 0.04202585, 1.10290825, 0.07153507, 0.18240529],
    "shared-mlp": [0.81413919, 0.05021883, 0.06479742, 1.51344597, 0.14345385, 0.42661947],
    "dense": [0.61858892, 0.02501023, 0.14341821, 1.15094602, 0.09504869, 0.72974545],
}


@pytest.mark.parametrize(("name", "known"), KNOWN.items(), ids=KNOWN.keys())
def test_losses_and_gradients_are_the_known_ones(name, known):
    case, numbers = CASES[name](torch.float32), []
    for candidates in (None, LISTS):
        batch = case.leaves().encoded()
        head = case.new(len(case.tensors[1]))
        loss = head(batch, some_targets().sparse(), candidates=candidates)
        loss.backward()
        vectors = next(head.parameters())
        numbers += [loss.detach(), batch.states.grad.norm(), vectors.grad.norm()]
    assert [float(number) for number in numbers] == pytest.approx(known, rel=2e-6)
