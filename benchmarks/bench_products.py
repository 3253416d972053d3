"""Products of float32 matrices in torch, as it comes and after `quicken_products`, on one thread.

    .venv/bin/python benchmarks/bench_products.py [--repeats 9]

Shapes are those that networks here multiply, then smaller and smaller ones. Both ways take the same matrices,
in turn, in one process; `gflops` are billions of multiplications and additions a second,
`largest_difference` is over the largest number of the product. `is_quicker` is false where nothing is
replaced: on processors other than AMD's with AVX-512, or where OPENBLAS_CORETYPE asks for narrower kernels.
Both columns are the same then.
"""

from __future__ import annotations

import argparse
import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

from collections.abc import Callable
from typing import Any

import common
import torch

from tailwright.training.products import quicken_products

# rows, inner, columns
SHAPES = {
    "tokens by labels": (640, 384, 2817),
    "tokens by labels, gradient": (640, 2817, 384),
    "a layer of a language model": (512, 576, 1536),
    "its vocabulary": (512, 576, 49152),
    "texts by label vectors": (255, 128, 40000),
    "2^21": (128, 128, 128),
    "2^20": (64, 128, 128),
    "2^19": (64, 128, 64),
    "2^18": (64, 64, 64),
}


def measured(
    shape: tuple[int, int, int], multiply: dict[str, Callable[..., torch.Tensor]], repeats: int
) -> dict[str, Any]:
    """Both ways with the same matrices."""
    rows, inner, columns = shape
    random = torch.Generator().manual_seed(0)
    a, b = torch.randn(rows, inner, generator=random), torch.randn(inner, columns, generator=random)
    times = max(1, 10**8 // (rows * inner * columns))

    def often(product: Callable[..., torch.Tensor]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(times):
                product(a, b)

        return run

    plain, quick = (product(a, b) for product in multiply.values())
    seconds = common.interleaved({name: often(product) for name, product in multiply.items()}, repeats)
    operations = 2 * rows * inner * columns * times / 1e9
    return {
        "shape": shape,
        "gflops": {name: round(operations / taken) for name, taken in seconds.items()},
        "largest_difference": float((plain - quick).abs().max() / plain.abs().max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    kernel = torch.library.get_kernel("aten::mm", "CPU")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    is_quicker = quicken_products()
    multiply = {"torch": lambda a, b: kernel.call_boxed(keys, a, b), "tailwright": torch.mm}
    products = {name: measured(shape, multiply, asked.repeats) for name, shape in SHAPES.items()}
    common.emit("products", {"is_quicker": is_quicker, "products": products})


if __name__ == "__main__":
    main()
