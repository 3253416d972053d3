"""Bytes that are nearly right: flipped, cut, doubled, moved, or with something awkward in between."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa

# What grammars of text formats trip over: marks, escapes, numbers at their ends, and half characters.
AWKWARD = (
    *(
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\r",
        b"\n",
        b"\r\n\r\n",
        b"\x1a",
        b"\xe2\x80\xa8",
    ),
    *(
        b'"',
        b'""',
        b"'",
        b",",
        b";",
        b"\t",
        b"|",
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b"<x>",
        b"__label__",
        b":",
        b" ",
    ),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b"[" * 2000,
        b'{"a":' * 2000,
        b"null",
        b"true",
        b"NaN",
        b"-Infinity",
        b"{}",
        b"[]",
    ),
    *(
        b"-1",
        b"0",
        b"1e999",
        b"1e-999",
        b"9" * 400,
        b"4294967296",
        b"18446744073709551616",
        b"0x10",
        b"1_000",
        b"\xd9\xa3",
    ),
    *(b'"text"', b'"labels"', b'"id"', b"target_ind", b"text,labels\n", b"=1+1", b"x" * 70_000),
)


def mutated(data: bytes, draw: np.random.Generator) -> tuple[str, bytes]:
    """The bytes with one to three changes, and what these were."""
    changes = []
    for _ in range(int(draw.integers(1, 4))):
        change = _CHANGES[draw.integers(len(_CHANGES))]
        data = change(data, draw)
        changes.append(change.__name__.strip("_"))
    return ", ".join(changes), data


def mutated_file(name: str, data: bytes, draw: np.random.Generator) -> tuple[str, bytes]:
    """The same of a file; every second time the content of a compressed one is changed, not its frame."""
    if draw.random() < 0.5:
        if name.endswith(".gz"):
            what, data = mutated(zlib.decompress(data, wbits=31), draw)
            return f"unpacked: {what}", gzip.compress(data, 1)
        if name.endswith(".zst"):
            with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
                what, data = mutated(stream.read(), draw)
            return f"unpacked: {what}", pa.compress(data, "zstd", asbytes=True)
    return mutated(data, draw)


def _span(data: bytes, draw: np.random.Generator) -> tuple[int, int]:
    start = int(draw.integers(len(data) + 1))
    return start, min(len(data), start + int(draw.integers(1, 1 + max(1, len(data) // 4))))


def _flipped(data: bytes, draw: np.random.Generator) -> bytes:
    if not data:
        return data
    place, bit = int(draw.integers(len(data))), 1 << int(draw.integers(8))
    return data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]


def _overwritten(data: bytes, draw: np.random.Generator) -> bytes:
    start, end = _span(data, draw)
    return data[:start] + draw.bytes(end - start) + data[end:]


def _cut(data: bytes, draw: np.random.Generator) -> bytes:
    return data[: int(draw.integers(len(data) + 1))]


def _left_out(data: bytes, draw: np.random.Generator) -> bytes:
    start, end = _span(data, draw)
    return data[:start] + data[end:]


def _doubled(data: bytes, draw: np.random.Generator) -> bytes:
    start, end = _span(data, draw)
    return data[:end] + data[start:]


def _moved(data: bytes, draw: np.random.Generator) -> bytes:
    start, end = _span(data, draw)
    return data[:start] + data[end:] + data[start:end]


def _awkward(data: bytes, draw: np.random.Generator) -> bytes:
    start, end = _span(data, draw)
    return data[:start] + AWKWARD[draw.integers(len(AWKWARD))] + data[start if draw.random() < 0.5 else end :]


def _lines_mixed(data: bytes, draw: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(lines[place] for place in draw.integers(len(lines), size=len(lines)))


def _cell_replaced(data: bytes, draw: np.random.Generator) -> bytes:
    """A cell, a JSON value or a word becomes something awkward; marks stay where they were."""
    marks = [place for place, byte in enumerate(data[:20_000]) if byte in b'",:;\t {}[]|\n']
    if len(marks) < 2:
        return _awkward(data, draw)
    first = int(draw.integers(len(marks) - 1))
    return data[: marks[first] + 1] + AWKWARD[draw.integers(len(AWKWARD))] + data[marks[first + 1] :]


_CHANGES: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    *(_flipped, _overwritten, _cut, _left_out, _doubled, _moved, _awkward, _lines_mixed),
    *(_cell_replaced,) * 4,
)
