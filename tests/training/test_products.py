"""Large float32 products of torch are NumPy's where torch is slow; all else is left as it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tailwright.training.products import LEAST, NARROWEST, quicken_products

ROWS, INNER, COLUMNS = 96, 128, 160


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def is_close(found: torch.Tensor, exact: torch.Tensor) -> bool:
    return bool((found.double() - exact).abs().max() <= 1e-5 * exact.abs().max())


@pytest.fixture(autouse=True)
def _quick_where_possible() -> None:
    quicken_products()


@pytest.mark.parametrize("turned_a", [False, True])
@pytest.mark.parametrize("turned_b", [False, True])
def test_a_product_is_right_however_the_matrices_lie_in_memory(turned_a: bool, turned_b: bool) -> None:
    a, b = drawn(ROWS, INNER), drawn(INNER, COLUMNS)
    lie_a = a.T.contiguous().T if turned_a else a
    lie_b = b.T.contiguous().T if turned_b else b
    assert is_close(lie_a @ lie_b, a.double() @ b.double())


def test_parts_of_larger_matrices_can_be_multiplied() -> None:
    a, b = drawn(ROWS, 3 * INNER)[:, 7 : 7 + INNER], drawn(2 * INNER, 2 * COLUMNS)[::2, ::2]
    assert is_close(a @ b, a.double() @ b.double())


BATCH = 3
PRODUCTS: dict[str, Callable[..., torch.Tensor]] = {
    "mm": lambda c, a, b: a[0] @ b[0],
    "mm into": lambda c, a, b: torch.mm(a[0], b[0], out=c[0].clone()),
    "linear": lambda c, a, b: torch.nn.functional.linear(a, b[0].T, c[0, 0]),
    "addmm": lambda c, a, b: torch.addmm(c[0], a[0], b[0], beta=0.5, alpha=2),
    "bmm": lambda c, a, b: torch.bmm(a, b),
    "bmm of the same": lambda c, a, b: torch.bmm(a, b[:1].expand(BATCH, -1, -1)),
    "added bmm": lambda c, a, b: c.clone().baddbmm_(a, b),
    "weighted bmm": lambda c, a, b: c.clone().baddbmm_(a, b, beta=0.5, alpha=2),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize(("rows", "inner", "columns"), [(ROWS, INNER, COLUMNS), (3, 4, 5), (1, 2048, 1024)])
def test_every_product_of_torch_is_what_it_was_and_so_is_its_gradient(
    name: str, rows: int, inner: int, columns: int
) -> None:
    given = [drawn(BATCH, *shape) for shape in ((rows, columns), (rows, inner), (inner, columns))]
    found = [one.clone().requires_grad_("into" not in name) for one in given]
    exact = [one.double().requires_grad_("into" not in name) for one in given]
    ours, right = PRODUCTS[name](*found), PRODUCTS[name](*exact)
    assert is_close(ours, right)
    if ours.requires_grad:
        ours.sum().backward()
        right.sum().backward()
        for mine, other in zip(found, exact, strict=True):
            assert (mine.grad is None) == (other.grad is None)
            assert other.grad is None or (mine.grad is not None and is_close(mine.grad, other.grad))


def test_other_precisions_and_small_products_keep_their_kernel() -> None:
    whole = torch.arange(ROWS * INNER).view(ROWS, INNER)
    assert torch.equal(whole @ whole.T, (whole.double() @ whole.T.double()).long())
    few = drawn(NARROWEST - 1, LEAST)
    assert is_close(few @ few.T, few.double() @ few.T.double())


def test_shapes_that_do_not_fit_are_refused_as_ever() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        drawn(ROWS, INNER) @ drawn(COLUMNS, INNER)
    with pytest.raises(RuntimeError):
        torch.bmm(drawn(2, ROWS, INNER), drawn(3, INNER, COLUMNS))


@pytest.mark.filterwarnings("error")
def test_products_that_are_too_large_are_no_numbers_without_a_warning() -> None:
    square = torch.full((INNER, INNER), 3e38)
    assert (square @ square).isinf().all()
    assert (square * 2 @ torch.zeros(INNER, INNER)).isnan().all()
