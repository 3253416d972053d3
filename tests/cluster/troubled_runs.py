"""Runs whose workers meet trouble: they are slow, killed, or out of memory. Workers import this module."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailwright.runs import load


class Troubled:
    """A run that does something before it ranks texts."""

    def __init__(self, path: Path, before: Callable[[Any], None]) -> None:
        self.run, self.before = load(path), before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    def top(self, texts: Any, *arguments: Any, **options: Any) -> Any:
        self.before(texts)
        return self.run.top(texts, *arguments, **options)


@dataclass(frozen=True)
class Slow:
    """Takes some seconds for each batch."""

    path: Path
    seconds: float

    def __call__(self) -> Any:
        return Troubled(self.path, lambda texts: time.sleep(self.seconds))


@dataclass(frozen=True)
class Killed:
    """Dies when it is asked about a batch with this text, so many times in all processes together."""

    path: Path
    text: str
    marks: Path
    times: int = 1

    def __call__(self) -> Any:
        return Troubled(self.path, self.die)

    def die(self, texts: Any) -> None:
        died = len(list(self.marks.iterdir()))
        if self.text in texts.to_pylist() and died < self.times:
            (self.marks / str(died)).touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Greedy:
    """Has memory for batches of so many texts."""

    path: Path
    most: int

    def __call__(self) -> Any:
        return Troubled(self.path, self.allocate)

    def allocate(self, texts: Any) -> None:
        if len(texts) > self.most:
            raise MemoryError("Unable to allocate 9.00 GiB")
