"""The generator inside kernels: word for word numpy's, and so that of `tailwright.streams`."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from tailwright.kernels.draws import philox_block, wide_product
from tailwright.streams import stream

words = st.integers(0, 2**64 - 1)


@njit
def draw(key: np.ndarray, row: np.uint64, blocks: int) -> np.ndarray:
    out = np.empty(4 * blocks, dtype=np.uint64)
    for block in range(blocks):
        a, b, c, d = philox_block(key[0], key[1], row, np.uint64(block))
        out[4 * block : 4 * block + 4] = np.array([a, b, c, d], dtype=np.uint64)
    return out


@njit
def product(one: np.uint64, other: np.uint64) -> tuple[np.uint64, np.uint64]:
    return wide_product(one, other)


@given(words, words, words)
def test_any_key_and_row_give_numpys_words(key_0, key_1, row):
    peer = np.random.Philox(key=key_0 | key_1 << 64, counter=row << 128)
    found = draw(np.array([key_0, key_1], dtype=np.uint64), np.uint64(row), 3)
    assert found.tolist() == peer.random_raw(12).tolist()


def test_the_words_are_those_of_a_stream():
    key = stream(3, "correlation-graph").bit_generator.state["state"]["key"]
    for row in (0, 1, 131_072):
        expected = stream(3, "correlation-graph", row).bit_generator.random_raw(8)
        assert draw(key, np.uint64(row), 2).tolist() == expected.tolist()


@given(words, words)
def test_the_product_has_all_its_128_bits(one, other):
    high, low = product(np.uint64(one), np.uint64(other))
    assert int(high) << 64 | int(low) == one * other


def test_places_and_what_is_left_are_even_and_unrelated():
    """A word gives a place among 7, and its rest a place among 5: all 35 cells are met equally often."""
    key = stream(0, "test").bit_generator.state["state"]["key"]
    cells = np.zeros((7, 5))
    for word in draw(key, np.uint64(0), 5_000):
        place, left = product(word, np.uint64(7))
        cells[int(place), int(product(np.uint64(left), np.uint64(5))[0])] += 1
    expected = cells.sum() / cells.size
    chi_square = ((cells - expected) ** 2 / expected).sum()
    assert chi_square < 65  # 34 degrees of freedom: 0.1 % of even draws are above
