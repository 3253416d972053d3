"""`quicken_products`: torch multiplies large float32 matrices by oneDNN, where MKL is slow.

On a processor with AVX-512, torch takes MKL, which on one of AMD's uses half of its width: 110 billion
operations a second on a core of an EPYC (Zen 5), where oneDNN, which is within torch too, does 250. torch
itself uses oneDNN for other precisions alone. So its kernels of dense products are replaced: large ones go to
oneDNN, all else to the kernel that was there. Both compute in float32 and round differently in the last bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from llvmlite.binding import get_host_cpu_name

LEAST = 1 << 20  # multiplications: with half as many, both take as long (benchmarks/bench_products.py)
NARROWEST = 16  # of any side: products with a vector wait for memory either way
_AMD = "znver"  # how LLVM calls AMD's Zen, with its number behind

_kept: list[torch.library.Library] = []  # kernels go with the library that brought them


@cache
def quicken_products() -> bool:
    """Do so in this process, from now on; False where MKL is as quick, or torch lacks what it takes."""
    if not get_host_cpu_name().startswith(_AMD) or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    if not _is_possible():
        return False
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a kernel is replaced
        for name, quick in _QUICK.items():
            kernel = _with_rest(name, quick)
            library.impl(name, kernel, "CPU", with_keyset=True)  # type: ignore[no-untyped-call]
    _kept.append(library)
    return True


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a (rows, inner) @ b (inner, columns) by oneDNN, in whatever order they lie in memory."""
    return _product_with(a, b, None)


def _product_with(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    turned = b.t()
    if 1 not in turned.stride():
        turned = turned.contiguous()
    result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(a, turned, bias, "none", [], "")
    return result


def _is_possible() -> bool:
    """Whether this torch has the operators of oneDNN and lets kernels be replaced; releases differ."""
    try:
        a = torch.arange(6.0).view(2, 3)
        kernel = torch.library.get_kernel("aten::mm", "CPU")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
        return bool((product(a, a.T) == kernel.call_boxed(keys, a, a.T)).all())
    except (AttributeError, RuntimeError):
        return False


def _with_rest(name: str, quick: Callable[..., torch.Tensor | None]) -> Callable[..., torch.Tensor]:
    """A kernel that asks `quick`, and the one that was there where that gives None."""
    before = torch.library.get_kernel(f"aten::{name}", "CPU")

    def kernel(keys: Any, *given: Any, **named: Any) -> torch.Tensor:
        result = quick(*given, **named)
        if result is None:
            result = before.call_boxed(keys, *given, **named)
        return result

    return kernel


def _is_large(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Of (..., rows, inner) and (..., inner, columns): float32 alone, and worth it."""
    if a.dtype != torch.float32 or b.dtype != torch.float32 or a.is_sparse or b.is_sparse:
        return False
    rows, inner = a.shape[-2:]
    columns = b.shape[-1]
    return rows * inner * columns >= LEAST and min(rows, inner, columns) >= NARROWEST


def _mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    return product(a, b) if _is_large(a, b) and a.shape[1] == b.shape[0] else None


def _addmm(
    bias: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor | None:
    is_bias = bias.dtype == torch.float32 and bias.shape == b.shape[1:] and bias.is_contiguous()
    if not is_bias or beta != 1 or alpha != 1 or not _is_large(a, b) or a.shape[1] != b.shape[0]:
        return None
    return _product_with(a, b, bias)


def _bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor | None:
    if not _fit(a, b):
        return None
    out = a.new_empty(len(a), a.shape[1], b.shape[2])
    for part, one, other in zip(out, a, b, strict=True):
        part.copy_(product(one, other))
    return out


def _add_bmm(
    total: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor | None:
    fits = _fit(a, b) and total.shape == (len(a), a.shape[1], b.shape[2]) and total.dtype == torch.float32
    if not fits or beta != 1 or alpha != 1:
        return None
    for part, one, other in zip(total, a, b, strict=True):
        part.add_(product(one, other))
    return total


def _fit(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dim() == b.dim() == 3 and len(a) == len(b) and a.shape[2] == b.shape[1] and _is_large(a, b)


def _mm_out(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor | None:
    if out.dtype != torch.float32 or out.shape != (a.shape[0], b.shape[1]):
        return None
    result = _mm(a, b)
    return result if result is None else out.copy_(result)


_QUICK: dict[str, Callable[..., torch.Tensor | None]] = {
    "mm": _mm,
    "mm.out": _mm_out,
    "addmm": _addmm,
    "bmm": _bmm,
    "baddbmm_": _add_bmm,
}
