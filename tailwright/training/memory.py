"""The memory that a fit will need, estimated before it starts.

The estimate is what the process holds already plus what the fit will add, item by item, so that advice can
name the largest. Callers must not add up items that are never alive at the same time.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from tailwright.errors import InputError

MB = 1024 * 1024


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes that a fit will add to the process, by item."""

    items: Mapping[str, float]

    @property
    def megabytes(self) -> float:
        """All items together."""
        return sum(self.items.values()) / MB

    def peak_mb(self, held_mb: float | None = None) -> float:
        """The peak to expect in a process that holds `held_mb` (default: what this one holds now)."""
        return (resident_mb() if held_mb is None else held_mb) + self.megabytes

    def require(self, advice: str, available_mb: float | None = None) -> None:
        """Raise an InputError with `advice` if more is needed than the machine has free."""
        available = free_mb() if available_mb is None else available_mb
        if self.megabytes <= available:
            return
        largest = max(self.items, key=lambda item: self.items[item])
        raise InputError(
            f"training needs about {self.megabytes:,.0f} MB more, most of it for {largest}",
            expected=f"at most the {available:,.0f} MB that are free; {advice}",
        )


def resident_mb() -> float:
    """The memory that this process holds now."""
    return float(psutil.Process().memory_info().rss / MB)


def free_mb() -> float:
    """The memory that the machine can give without swapping."""
    return float(psutil.virtual_memory().available / MB)


def give_back() -> None:
    """Return freed memory to the system; glibc would keep it, above all with several threads."""
    gc.collect()
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
