"""Times as people write them: `90`, `90s`, `10m`, `1.5h`."""

from __future__ import annotations

import re

from tailwright.errors import InputError, quoted

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")


def seconds_of(text: str) -> float:
    """Seconds of a time; anything else, and no time at all, is an InputError.

    >>> seconds_of("10m"), seconds_of("1.5h"), seconds_of("90")
    (600.0, 5400.0, 90.0)
    """
    match = _TIME.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise InputError(f"found the time {quoted(text)}", expected="such as 90s, 10m or 1.5h")
    return float(match[1]) * _SECONDS[match[2]]
