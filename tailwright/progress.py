"""Progress of long work, on stderr: a bar with rate and time left in a terminal, plain lines elsewhere.

Silent until `show(True)`: the library prints nothing unless the command line (or a user) asks for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]

SECONDS_BETWEEN_LINES = 5.0
SECONDS_WORTH_A_LINE = 1.0

_shown = False
_stages: list[str] = []  # of the work that goes on, the outermost first


def show(on: bool) -> None:
    """Switch progress on or off for this process."""
    global _shown  # noqa: PLW0603 (one switch for one process, like logging's level)
    _shown = on


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Within it, a task is shown with the name of this stage before its own: `f0: lightxml`."""
    _stages.append(name)
    try:
        yield
    finally:
        _stages.pop()


@contextmanager
def silent() -> Iterator[None]:
    """Within it no task is shown: for the parts of work that has a bar of its own."""
    before = _shown
    show(False)
    try:
        yield
    finally:
        show(before)


def note(line: str) -> None:
    """A remark about the work that goes on."""
    if _shown:
        print(line, file=sys.stderr, flush=True)


@contextmanager
def progress(task: str, total: int, unit: str = "rows") -> Iterator[Advance]:
    """A context that gives `advance(n)`, to be called as work gets done."""
    if not _shown:
        yield lambda n: None
        return
    display = _bar if sys.stderr.isatty() else _lines
    with display(": ".join([*_stages, task]), total, unit) as advance:
        yield advance


@contextmanager
def _bar(task: str, total: int, unit: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    start, done = time.monotonic(), 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(task, total=total, rate="")

        def advance(n: int) -> None:
            nonlocal done
            done += n
            bars.update(bar, advance=n, rate=_rate(done, time.monotonic() - start, unit))

        yield advance


@contextmanager
def _lines(task: str, total: int, unit: str) -> Iterator[Advance]:
    start = said = time.monotonic()
    done = 0

    def advance(n: int) -> None:
        nonlocal done, said
        done += n
        now = time.monotonic()
        if now - said >= SECONDS_BETWEEN_LINES and done < total:
            said = now
            left = (total - done) * (now - start) / max(done, 1)
            rate = _rate(done, now - start, unit)
            print(f"{task}: {done:,} of {total:,}, {rate}, {left:.0f} s left", file=sys.stderr, flush=True)

    yield advance
    taken = time.monotonic() - start
    if taken >= SECONDS_WORTH_A_LINE:
        print(f"{task}: {done:,} {unit} in {taken:.1f} s", file=sys.stderr, flush=True)


def _rate(done: int, seconds: float, unit: str) -> str:
    rate = done / max(seconds, 1e-9)
    return f"{rate:,.0f} {unit}/s" if rate >= 10 else f"{rate:.2g} {unit}/s"
