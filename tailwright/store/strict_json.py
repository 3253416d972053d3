"""JSON that means the same to every reader: UTF-8, finite numbers, unique keys, bounded size and depth."""

from __future__ import annotations

import json
import math
import re
from typing import Any

MAX_BYTES = 64 << 20
MAX_DEPTH = 64
# Conversion is quadratic, and Python's own limit on digits (since 3.10.7) can be switched off.
_MAX_DIGITS = 400

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def encode(value: object, indent: int | None = 1) -> bytes:
    """`value` as UTF-8 JSON that `decode` gives back (tuples as lists).

    >>> encode({"a": [1, 2.5]}, indent=None)
    b'{"a": [1, 2.5]}'

    Raises TypeError or ValueError for what JSON cannot express: NaN, a key that is not text, an object.
    """
    try:
        raw = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent).encode()
    except RecursionError as error:
        raise ValueError(f"nested deeper than {MAX_DEPTH}") from error
    _check_keys(value)
    decode(raw)
    return raw


def decode(raw: bytes) -> Any:
    """The value in `raw`; a one-line ValueError where it is not strict JSON."""
    if len(raw) > MAX_BYTES:
        raise ValueError(f"{len(raw)} bytes, more than {MAX_BYTES}")
    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise ValueError(f"nested deeper than {MAX_DEPTH}") from error
    _check_depth(value)
    if _SURROGATE_ESCAPE.search(raw):
        _check_surrogates(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("the same key twice in one object")
    return table


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number beyond the range of a float")
    return value


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits")
    return int(text)


def _check_depth(value: object) -> None:
    """Level by level, so that no nesting can exhaust the stack."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise ValueError(f"nested deeper than {MAX_DEPTH}")


def _check_keys(value: object) -> None:
    """Refuse keys that are not text: `json.dumps` would silently turn 1 and None into text."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    raise TypeError(f"JSON keys are text, got {key!r}")
            left.extend(item.values())
        elif isinstance(item, (list, tuple)):
            left.extend(item)


def _check_surrogates(value: object) -> None:
    """Refuse half of a surrogate pair: it would come back as a string that cannot be written anywhere."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("a lone surrogate in a string") from error
