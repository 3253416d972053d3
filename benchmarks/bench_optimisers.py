"""Our optimisers against torch's own: what a short training pays for, and what a step takes.

    .venv/bin/python benchmarks/bench_optimisers.py [--rows N] [--width N] [--touched N] [--steps N]

Each of the four runs in a process of its own, in turn, three times. `dense` steps a (rows / 10, width)
parameter by AdamW; `table` steps the touched rows of a (rows, width) table, by `RowSparseAdam` or by
`nn.Embedding(sparse=True)` with `SparseAdam`. One thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

import common

RUNS = ("dense ours", "dense torch", "table ours", "table torch")


def run(name: str, rows: int, width: int, touched: int, steps: int) -> dict[str, float]:
    """Seconds of the first step and of each later one, and the memory that both added."""
    import numba
    import numpy as np
    import torch

    from tailwright.encoders.row_table import RowTable
    from tailwright.training.dense_adam import DenseAdam
    from tailwright.training.sparse_adam import RowSparseAdam

    torch.set_num_threads(1)
    numba.set_num_threads(1)
    random = np.random.Generator(np.random.Philox(key=1))
    ids = [np.sort(random.permutation(rows)[:touched]).astype(np.int32) for _ in range(steps + 1)]
    weight = torch.zeros(rows // 10 if name.startswith("dense") else rows, width)
    before = common.peak_rss_bytes()
    if name == "dense ours":
        parameter = torch.nn.Parameter(weight)
        adam = DenseAdam(parameter)

        def step(number: int) -> None:
            (parameter * 2).sum().backward()
            adam.step(1e-3)

    elif name == "dense torch":
        parameter = torch.nn.Parameter(weight)
        optimiser = torch.optim.AdamW([parameter], lr=1e-3, weight_decay=0, fused=True)

        def step(number: int) -> None:
            (parameter * 2).sum().backward()
            optimiser.step()
            optimiser.zero_grad()

    elif name == "table ours":
        table = RowTable(weight.numpy()).train()
        sparse = RowSparseAdam(table.array)

        def step(number: int) -> None:
            (table(ids[number]) * 2).sum().backward()
            gradient = table.take_gradient()
            assert gradient is not None
            sparse.step(*gradient, 1e-3)

    else:
        embedding = torch.nn.Embedding(rows, width, sparse=True, _weight=weight)
        optimiser = torch.optim.SparseAdam(list(embedding.parameters()), lr=1e-3)

        def step(number: int) -> None:
            (embedding(torch.from_numpy(ids[number]).long()) * 2).sum().backward()
            optimiser.step()
            optimiser.zero_grad()

    start = time.perf_counter()
    step(0)
    first = time.perf_counter() - start
    start = time.perf_counter()
    for number in range(1, steps + 1):
        step(number)
    later = (time.perf_counter() - start) / steps
    return {"first": first, "later": later, "mb": (common.peak_rss_bytes() - before) / 2**20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for option, default in (("rows", 40_000), ("width", 256), ("touched", 2000), ("steps", 200)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--run", choices=RUNS, help="one of the four, in this process")
    options = parser.parse_args()
    sizes = [options.rows, options.width, options.touched, options.steps]
    if options.run:
        print(json.dumps(run(options.run, *sizes)))
        return
    results: dict[str, list[dict[str, float]]] = {name: [] for name in RUNS}
    for _ in range(3):
        for name in RUNS:
            command = [sys.executable, __file__, "--run", name]
            for option, size in zip(("rows", "width", "touched", "steps"), sizes, strict=True):
                command += [f"--{option}", str(size)]
            line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results[name].append(json.loads(line.splitlines()[-1]))
    median = {
        name: {key: round(statistics.median(one[key] for one in taken), 5) for key in taken[0]}
        for name, taken in results.items()
    }
    print(
        json.dumps({"sizes": dict(zip(("rows", "width", "touched", "steps"), sizes, strict=True)), **median})
    )


if __name__ == "__main__":
    main()
