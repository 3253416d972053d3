"""A step of label attention with denormal numbers and without them, while attention grows sharper.

    .venv/bin/python benchmarks/bench_denormals.py [--labels 2817] [--sharpness 1 10 30] [--repeats 5]

A step is the loss of a batch and all its gradients. `sharpness` is the spread of a token's products with the
label vectors, which grows in training. Both ways take the same batch, in turn, in one process;
`largest_difference` is between their gradients, over the largest gradient.
"""

from __future__ import annotations

import argparse
from typing import Any

import common
import numpy as np
import torch

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.heads.label_specific import LabelSpecificHead
from tailwright.streams import stream
from tailwright.training.denormals import denormals_as_zero

ROWS, TOKENS, WIDTH = 16, 40, 384


def measured(labels: int, sharpness: float, repeats: int) -> dict[str, Any]:
    """Milliseconds of a step in both ways."""
    random = stream(0, "bench-denormals")
    states = torch.from_numpy(random.standard_normal((ROWS, TOKENS, WIDTH), dtype=np.float32))
    encoded = Encoded(states, torch.ones(ROWS, TOKENS, dtype=torch.bool))
    head = LabelSpecificHead(labels, WIDTH, seed=0, name="bench-denormals")
    with torch.no_grad():
        vectors = random.standard_normal(head.attention.shape, dtype=np.float32)
        head.attention.copy_(torch.from_numpy(vectors * np.float32(sharpness / WIDTH**0.5)))
    targets = BatchTargets(
        np.arange(ROWS + 1),
        random.integers(0, labels, ROWS).astype(np.int32),
        np.ones(ROWS, dtype=np.float32),
        np.zeros(ROWS + 1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        np.ones(ROWS, dtype=np.float32),
    )

    def step() -> torch.Tensor:
        head.zero_grad()
        head(encoded, targets).backward()
        assert head.attention.grad is not None
        return head.attention.grad.clone()

    def without() -> torch.Tensor:
        with denormals_as_zero():
            return step()

    plain, flushed = step(), without()
    seconds = common.interleaved({"with": step, "without": without}, repeats)
    return {
        "sharpness": sharpness,
        "milliseconds": {name: round(1000 * taken, 1) for name, taken in seconds.items()},
        "times_as_fast": round(seconds["with"] / seconds["without"], 2),
        "largest_difference": float((plain - flushed).abs().max() / plain.abs().max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--labels", type=int, default=2817)
    parser.add_argument("--sharpness", type=float, nargs="+", default=[1, 10, 30])
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)  # of threads that began before, denormals are not taken
    steps = [measured(asked.labels, sharpness, asked.repeats) for sharpness in asked.sharpness]
    common.emit("denormals", {"labels": asked.labels, "rows": ROWS, "tokens": TOKENS, "steps": steps})


if __name__ == "__main__":
    main()
