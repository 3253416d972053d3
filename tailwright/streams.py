"""Random streams: one for each (seed, method, row), independent of order and number of workers.

A stream is numpy's counter-based Philox generator. Its key is a hash of the seed and the method's name; the
row is the upper half of its counter, so that the streams of two rows cannot overlap within 2**128 draws.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, method: str, row: int = 0) -> np.random.Generator:
    """The generator that `method` draws from for `row` under `seed`.

    >>> bool(stream(0, "eda", 7).random() == stream(0, "eda", 7).random())
    True
    >>> bool(stream(0, "eda", 7).random() == stream(0, "eda", 8).random())
    False
    """
    if row < 0:
        raise ValueError(f"row must be >= 0, got {row}")
    return np.random.Generator(np.random.Philox(key=stream_key(seed, method), counter=row << 128))


def stream_key(seed: int, method: str) -> np.ndarray:
    """(2,) uint64: the key of these streams, for kernels that draw from them (`kernels/draws.py`)."""
    digest = hashlib.blake2b(f"{seed}\0{method}".encode(), digest_size=16).digest()
    return np.frombuffer(digest, dtype="<u8")
