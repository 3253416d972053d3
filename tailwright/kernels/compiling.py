"""How kernels are compiled: what only kernels call, and the line that people see while it goes on.

A kernel is compiled when it is first called, and kept for the user: beside its source or, where that cannot
be written, in the user's cache of numba.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core import event

from tailwright import progress

# For a function that only kernels call: it becomes a part of each of them, and needs no entry from Python.
HELPER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
helper = njit(**HELPER)


class _FirstCompilation(event.Listener):
    """Says once in a process that kernels are compiled."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        if not self.said:
            self.said = True
            progress.note("compiling kernels for this machine, once: about 20 s")

    def on_end(self, event: event.Event) -> None:
        pass


def announce() -> None:
    """Let people know when the first kernel of this process is compiled."""
    event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]
