"""`require`: an assertion that is also checked under `python -O`."""

from __future__ import annotations


def require(held: bool, otherwise: str) -> None:
    """Raise AssertionError(`otherwise`) unless `held`."""
    if not held:
        raise AssertionError(otherwise)
