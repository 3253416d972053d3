"""AdamW of dense parameters: equal to torch's own, and resumed to the same bits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tailwright.streams import stream
from tailwright.training.dense_adam import DenseAdam


def gradients(steps: int) -> list[torch.Tensor]:
    draws = stream(0, "gradients").standard_normal((steps, 3, 4)).astype(np.float32)
    return [torch.from_numpy(gradient) for gradient in draws]


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_are_those_of_torch(decay):
    ours, theirs = torch.ones(3, 4), torch.nn.Parameter(torch.ones(3, 4))
    adam = DenseAdam(ours, decay)
    peer = torch.optim.AdamW([theirs], lr=0.01, weight_decay=decay)
    for step, gradient in enumerate(gradients(20)):
        rate = 0.01 / (1 + step)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        adam.step(rate)
        peer.param_groups[0]["lr"] = rate
        peer.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-6, atol=1e-7)


def test_a_step_clears_the_gradient_and_without_one_nothing_moves():
    part = torch.ones(3, 4)
    adam = DenseAdam(part)
    part.grad = torch.ones(3, 4)
    adam.step(0.1)
    moved = part.clone()
    assert part.grad is None
    adam.step(0.1)
    assert torch.equal(part, moved)
    assert adam.steps == 1


def test_restored_it_goes_on_to_the_same_bits():
    part = torch.ones(3, 4)
    adam = DenseAdam(part)
    drawn = gradients(6)
    for gradient in drawn[:3]:
        part.grad = gradient.clone()
        adam.step(0.1)
    other = part.clone()
    again = DenseAdam(other)
    again.restore({name: array.copy() for name, array in adam.state().items()})
    for gradient in drawn[3:]:
        part.grad, other.grad = gradient.clone(), gradient.clone()
        adam.step(0.1)
        again.step(0.1)
    assert torch.equal(part, other)


def test_training_does_not_load_the_compiler_of_torch():
    import subprocess
    import sys

    code = (
        "import sys, torch; from tailwright.training.dense_adam import DenseAdam; p = torch.ones(2); "
        "p.grad = torch.ones(2); DenseAdam(p).step(0.1); sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
