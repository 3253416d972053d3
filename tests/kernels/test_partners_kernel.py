"""The kernel that draws partners: word for word its plain twin, never a row itself, all others alike."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwright.kernels.draws import draw_partners, random_keys
from tailwright.streams import stream, stream_key

KEY = stream_key(3, "partners")


def below(draw: np.random.Generator, count: int) -> int:
    return int(draw.bit_generator.random_raw()) * count >> 64


def twin(rows: list[int], sizes: list[int], count: int) -> list[tuple[int, int, int]]:
    """(who drew, who was drawn, order) in plain Python."""
    found, start = [], 0
    for size in sizes:
        for place in range(start, start + size):
            draw = stream(3, "partners", rows[place])
            others = [other for other in range(start, start + size) if other != place]
            chosen: list[int] = []
            for last in range(len(others) - min(count, len(others)), len(others)):
                other = below(draw, last + 1)
                chosen.append(last if other in chosen else other)
                found.append((place, others[chosen[-1]], below(draw, 1 << 62)))
        start += size
    return found


def drawn(rows: list[int], sizes: list[int], count: int) -> list[tuple[int, int, int]]:
    ends = np.cumsum([0, *sizes])
    parts = draw_partners(KEY, np.array(rows, dtype=np.int64), ends, count)
    return list(zip(*(part.tolist() for part in parts), strict=True))


@given(st.lists(st.integers(1, 6), max_size=5), st.integers(1, 7), st.integers(0, 100))
def test_the_kernel_agrees_with_its_twin(sizes, count, first):
    rows = [first + 7 * place for place in range(sum(sizes))]
    assert drawn(rows, sizes, count) == twin(rows, sizes, count)


def test_others_of_the_group_are_drawn_once_each_and_never_the_row_itself():
    pairs = [(a, b) for a, b, _ in drawn(list(range(9)), [4, 1, 4], 3)]
    assert len(set(pairs)) == len(pairs) == 2 * 4 * 3
    assert all(a != b and a // 4.5 == b // 4.5 for a, b in pairs)


@pytest.mark.parametrize("count", [1, 2])
def test_every_other_row_is_as_likely(count):
    rows, groups, size = 20_000, 4_000, 5
    found = drawn(list(range(rows)), [size] * groups, count)
    gaps = Counter((b - a) % size for a, b, _ in found)
    expected = rows * count / (size - 1)
    assert set(gaps) == {1, 2, 3, 4}
    assert sum((n - expected) ** 2 / expected for n in gaps.values()) < 16.27  # chi-square, 3 degrees, 0.001


def test_random_keys_are_the_first_draw_of_each_row():
    rows = np.array([5, 0, 10**12])
    assert random_keys(KEY, rows).tolist() == [below(stream(3, "partners", int(r)), 1 << 62) for r in rows]
