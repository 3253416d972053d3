"""`quicken_products`: torch leaves large float32 products to NumPy, where its own library is slow.

torch multiplies by MKL, which takes half of the width of an AMD processor with AVX-512: 105 billion
operations a second on a core of an EPYC (Zen 5), where OpenBLAS, by which NumPy multiplies, does 240. So
torch's kernels of dense products are replaced: large ones go to NumPy, on the same memory, and all else to
the kernel that was there. Both compute in float32 and round differently in the last bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from llvmlite.binding import get_host_cpu_name

from tailwright.training.threads import blas_cores

LEAST = 1 << 20  # multiplications: of smaller products (benchmarks/bench_products.py) Python takes its share
NARROWEST = 32  # of any side: with a few rows, putting the other matrix in order takes as long as multiplying
_AMD = "znver"  # how LLVM calls AMD's processors since Zen, with a number behind
_WIDE = "SkylakeX"  # how OpenBLAS calls its kernels for AVX-512

_kept: list[torch.library.Library] = []  # kernels go with the library that brought them


@cache
def quicken_products() -> bool:
    """Do so in this process, from now on; False where it would not help, or cannot be done."""
    if not get_host_cpu_name().startswith(_AMD) or _WIDE not in blas_cores() or not _can_be_replaced():
        return False
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a kernel is replaced
        for name, quick in _QUICK.items():
            kernel = _with_rest(name, quick)
            library.impl(name, kernel, "CPU", with_keyset=True)  # type: ignore[no-untyped-call]
    _kept.append(library)
    return True


def _can_be_replaced() -> bool:
    """Whether this release of torch tells the kernels that it has."""
    try:
        for name in _QUICK:
            torch.library.get_kernel(f"aten::{name}", "CPU")
    except (AttributeError, RuntimeError):
        return False
    return True


def _with_rest(name: str, quick: Callable[..., torch.Tensor | None]) -> Callable[..., torch.Tensor]:
    """A kernel that asks `quick`, and the one that was there where that gives None."""
    before = torch.library.get_kernel(f"aten::{name}", "CPU")

    def kernel(keys: Any, *given: Any, **named: Any) -> torch.Tensor:
        result = quick(*given, **named)
        if result is None:
            result = before.call_boxed(keys, *given, **named)
        return result

    return kernel


def _mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    if not _is_large(a, b):
        return None
    return _product(a, b, a.new_empty(a.shape[0], b.shape[1]))


def _mm_out(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor | None:
    fits = out.dtype == torch.float32 and out.shape == (a.shape[0], b.shape[1])
    return _product(a, b, out) if fits and _is_large(a, b) else None


def _addmm(
    total: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor | None:
    is_plain = total.dtype == torch.float32 and beta == alpha == 1
    result = _mm(a, b) if is_plain else None
    return result if result is None else result.add_(total)


def _bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    if not _is_large(a, b):
        return None
    return _product(a, b, a.new_empty(a.shape[0], a.shape[1], b.shape[2]))


def _add_bmm(
    total: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor | None:
    is_plain = total.dtype == torch.float32 and beta == alpha == 1
    result = _bmm(a, b) if is_plain else None
    return result if result is None else total.add_(result)


_QUICK: dict[str, Callable[..., torch.Tensor | None]] = {
    "mm": _mm,
    "mm.out": _mm_out,
    "addmm": _addmm,
    "bmm": _bmm,
    "baddbmm_": _add_bmm,
}


def _is_large(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether each product of (..., rows, inner) and (..., inner, columns) is of float32, and worth it."""
    if a.dtype != torch.float32 or b.dtype != torch.float32 or not (a.layout == b.layout == torch.strided):
        return False
    *batch, rows, inner = a.shape
    columns = b.shape[-1]
    fits = b.shape == (*batch, inner, columns)
    return fits and rows * inner * columns >= LEAST and min(rows, inner, columns) >= NARROWEST


def _product(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """`out`, which is filled; the matrices may lie in memory as they like. It warns of no overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        np.matmul(a.detach().numpy(), b.detach().numpy(), out=out.detach().numpy())
    return out
