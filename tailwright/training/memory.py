"""What a fit will need in memory, said before it starts.

The estimate is the memory that the process holds already plus what the fit will add, item by item, so that
the advice can name the largest. Items that are not alive at the same time are not added up by the caller.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tailwright.errors import InputError
from tailwright.training.workplace import peak_rss_mb

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
        """An InputError with `advice` where more is needed than the machine has to give."""
        available = free_mb() if available_mb is None else available_mb
        if available is None or self.megabytes <= available:
            return
        largest = max(self.items, key=lambda item: self.items[item])
        raise InputError(
            f"training needs about {self.megabytes:,.0f} MB more, most of it for {largest}",
            expected=f"at most the {available:,.0f} MB that are free; {advice}",
        )


def resident_mb() -> float:
    """The memory that this process holds now; its peak so far where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_rss_mb()
    return pages * 4096 / MB


def free_mb() -> float | None:
    """The memory that the machine can still give, if the system says."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable:")), None)


def give_back() -> None:
    """Return to the system what this process has freed; glibc keeps it otherwise, most of all for threads."""
    gc.collect()
    with suppress(AttributeError, OSError):  # another C library has its own ways
        ctypes.CDLL(None).malloc_trim(0)
