"""The label-specific head over label attention: blocks of labels against a context vector for every pair.

    .venv/bin/python benchmarks/bench_label_attention.py [--labels 27000] [--rows 8,16] [--repeats 3]

A step is the loss of a batch and all its gradients, of hidden states as an encoder gives them. The naive head
builds (batch, labels, width) and dense targets, and lets torch differentiate. Both take the same batch, in
turn, in one process; the peak memory of each is that of a process of its own that does one step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import common
import numpy as np
import torch
from torch.nn import functional

from tailwright.data.batch_targets import BatchTargets
from tailwright.encoders.encoded import Encoded
from tailwright.heads.label_specific import LabelSpecificHead
from tailwright.streams import stream

LABELS_A_ROW = 5


class Step:
    """One batch, and a step of either head; gradients stay in the leaves until the next step."""

    def __init__(self, rows: int, tokens: int, width: int, labels: int) -> None:
        random = stream(0, "bench-label-attention")
        drawn = random.standard_normal((rows, tokens, width), dtype=np.float32)
        states = torch.from_numpy(drawn).requires_grad_()
        self.encoded = Encoded(states, torch.ones(rows, tokens, dtype=torch.bool))
        self.head = LabelSpecificHead(labels, width, seed=0, name="bench-label-attention")
        self.leaves = [states, *self.head.parameters()]
        self.positives = np.stack([random.permutation(labels)[:LABELS_A_ROW] for _ in range(rows)])

    def ours(self) -> float:
        rows, ordered = len(self.positives), np.sort(self.positives, axis=1).astype(np.int32)
        targets = BatchTargets(
            np.arange(rows + 1) * LABELS_A_ROW,
            ordered.ravel(),
            np.ones(ordered.size, dtype=np.float32),
            np.zeros(rows + 1, dtype=np.int64),
            np.zeros(0, dtype=np.int32),
            np.ones(rows, dtype=np.float32),
        )
        return self._backward(self.head(self.encoded, targets))

    def naive(self) -> float:
        head, states = self.head, self.encoded.states
        targets = torch.zeros(len(states), head.labels)
        targets.scatter_(1, torch.from_numpy(self.positives), 1.0)
        products = (states @ head.attention.T).masked_fill(~self.encoded.token_mask()[..., None], -torch.inf)
        attention = torch.softmax(products, 1)  # (batch, tokens, labels)
        contexts = attention.transpose(1, 2) @ states  # (batch, labels, width)
        logits = (contexts * head.outputs).sum(-1) + head.bias
        return self._backward(functional.binary_cross_entropy_with_logits(logits, targets))

    def _backward(self, loss: torch.Tensor) -> float:
        for leaf in self.leaves:
            leaf.grad = None
        loss.backward()
        return float(loss.detach())

    def run(self, name: str) -> Callable[[], float]:
        return self.ours if name == "ours" else self.naive

    def difference(self) -> float:
        """The largest difference between gradients, over the largest gradient of that tensor."""
        self.naive()
        plain = [leaf.grad.clone() for leaf in self.leaves]
        self.ours()
        pairs = zip(self.leaves, plain, strict=True)
        return max(float((leaf.grad - grad).abs().max() / grad.abs().max()) for leaf, grad in pairs)


def measured(asked: argparse.Namespace, rows: int) -> dict[str, Any]:
    step = Step(rows, asked.tokens, asked.width, asked.labels)
    difference = step.difference()  # which also warms up
    seconds = common.interleaved({name: step.run(name) for name in ("naive", "ours")}, asked.repeats)
    peaks = {name: _peak_in_own_process(asked, name, rows) for name in seconds}
    return {
        "rows": rows,
        "rows_a_second": {name: round(rows / taken, 2) for name, taken in seconds.items()},
        "times_the_rows_a_second": round(seconds["naive"] / seconds["ours"], 2),
        "peak_mb": {name: peak["peak_mb"] for name, peak in peaks.items()},
        "share_of_the_peak": round(peaks["ours"]["peak_mb"] / peaks["naive"]["peak_mb"], 3),
        "step_mb": {name: peak["step_mb"] for name, peak in peaks.items()},
        "largest_difference_of_gradients": difference,
    }


def _peak_in_own_process(asked: argparse.Namespace, name: str, rows: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--peak", name, "--rows", str(rows)]
    for option in ("labels", "tokens", "width"):
        command += [f"--{option}", str(getattr(asked, option))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def peak(asked: argparse.Namespace, name: str, rows: int) -> dict[str, float]:
    """Peak memory of this process, and what the step added to what was there before it."""
    step = Step(rows, asked.tokens, asked.width, asked.labels)
    before = common.peak_rss_bytes()
    step.run(name)()
    after = common.peak_rss_bytes()
    return {"peak_mb": round(after / 2**20), "step_mb": round((after - before) / 2**20)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--labels", type=int, default=27_000)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--rows", default="8,16", help="batch sizes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peak", choices=("naive", "ours"), help="one step in this process, for its memory")
    asked = parser.parse_args()
    sizes = [int(rows) for rows in asked.rows.split(",")]
    if asked.peak:
        print(json.dumps(peak(asked, asked.peak, sizes[0])))
        return
    shape = {"labels": asked.labels, "tokens": asked.tokens, "width": asked.width}
    threads = {"threads": torch.get_num_threads(), "load": round(os.getloadavg()[0], 1)}
    common.emit("label_attention", {**shape, **threads, "batches": [measured(asked, r) for r in sizes]})


if __name__ == "__main__":
    main()
