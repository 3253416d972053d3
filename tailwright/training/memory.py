"""The memory that a fit will need, estimated before it starts.

The estimate is what the process holds already plus what the fit will add, item by item, so that advice can
name the largest. Callers must not add up items that are never alive at the same time.
"""

from __future__ import annotations

import ctypes
import math
import resource
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tailwright.errors import InputError

if TYPE_CHECKING:
    from tailwright.training.workplace import Workplace

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

    def without(self, item: str) -> MemoryNeed:
        """All but one item, which lies in files."""
        return MemoryNeed({name: size for name, size in self.items.items() if name != item})

    def announce(self, work: Workplace, advice: str) -> None:
        """Log the peak to expect; raise an InputError with `advice` if the machine has too little free.

        Every model does so before it trains.
        """
        work.log("memory", expected_peak_mb=round(self.peak_mb(), 1))
        self.require(advice)

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
    import psutil  # heavy, and no answer needs it

    return float(psutil.Process().memory_info().rss / MB)


def free_mb() -> float:
    """The memory that this process may still take: the machine's, its control group's, its own limit's."""
    import psutil  # heavy, and no answer needs it

    available = float(psutil.virtual_memory().available)
    groups = _left_in_groups(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
    # The limits of `ulimit -v` and `ulimit -d`; files that are mapped do not count as data.
    own = _left(resource.RLIMIT_AS, "vms"), _left(resource.RLIMIT_DATA, "data")
    return max(0.0, min(available, *groups, *own) / MB)


def address_space_mb() -> float:
    """What this process may still map, files included (`ulimit -v`)."""
    return max(0.0, _left(resource.RLIMIT_AS, "vms") / MB)


def _left(limit: int, held: str) -> float:
    """Bytes below a limit on this process, which holds what psutil calls `held`."""
    soft, _ = resource.getrlimit(limit)
    if soft == resource.RLIM_INFINITY:
        return math.inf
    import psutil  # heavy, and no answer needs it

    return float(soft - getattr(psutil.Process().memory_info(), held, 0))


def _left_in_groups(membership: Path, root: Path) -> list[float]:
    """Bytes below the limits of the control groups that this process is in, version 1 or 2, and those above.

    A container has its own group as the root, so the path that the kernel names may not be there.
    """
    left = [math.inf]
    try:
        lines = membership.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return left
    for line in lines:
        _, controllers, path = line.split(":", 2) if line.count(":") >= 2 else ("", "?", "/")
        if controllers == "":
            base, limit, used = root, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, used = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        group = base / path.strip("/")
        for folder in (group, *group.parents):
            most, held = _number_in(folder / limit), _number_in(folder / used)
            if most is not None and held is not None:
                left.append(most - held + (_number_of(folder / "memory.stat", "inactive_file") or 0))
            if folder == base:
                break
    return left


def _number_in(path: Path) -> float | None:
    """The number in a file of a control group; None without one ("max" is no limit)."""
    try:
        return float(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _number_of(path: Path, name: str) -> float | None:
    """A number of memory.stat; pages of files that were read can be given back, but count as used."""
    try:
        pairs = dict(line.split() for line in path.read_text(encoding="ascii").splitlines())
        return float(pairs[name])
    except (OSError, ValueError, KeyError):
        return None


def give_back() -> None:
    """Return freed memory to the system; Arrow would keep it, and glibc, above all with several threads.

    Cycles are not looked for: in a process with many objects that takes longer than a short fit.
    """
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
