"""The parts of `benchmarks/faults.py`. Each is a row of trials; a seed and a number say all of a trial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from tailwright.streams import stream


@dataclass(frozen=True)
class Outcome:
    """What was done in a trial, what came of it in a few words, and the problem where it must not be so."""

    done: str
    came: str
    problem: str = ""


@dataclass(frozen=True)
class Trial:
    """One trial of a part: its number, what was prepared, and an empty folder to work in."""

    part: str
    seed: int
    number: int
    place: Path
    scratch: Path

    def draw(self) -> np.random.Generator:
        """The generator that everything random in the trial is drawn from."""
        return stream(self.seed, f"faults/{self.part}", self.number)


class Part(Protocol):
    """What is tried, in how much of the time, and for how long a trial may take."""

    name: str
    share: float
    patience: float  # seconds, after which a trial counts as one that does not end

    def count(self, place: Path) -> int | None:
        """How many trials there are; None: as many as there is time for."""

    def trial(self, trial: Trial) -> Outcome:
        """Do one. It runs in a process that does nothing but trials of this part."""
