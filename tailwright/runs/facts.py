"""`run.json`: how a run came about, as checked data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tailwright.runs.probability import Calibration


class _Facts(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class AppliedAugmentation(_Facts):
    """An augmentation that a run was trained with: its settings, and how many rows it added.

    `rows` is negative for a method that dropped rows of others.
    """

    name: str
    settings: dict[str, Any] = {}
    rows: int = 0


class TrainingData(_Facts):
    """What a run was trained on: where it was read from, empty if unknown, and the corpus's digest."""

    path: str = ""
    digest: str = ""


class TailAdvice(_Facts):
    """The `--tail` that gave the most on held-out rows, and what it gave there, in points of percent.

    The most PSP@1 and PSP@5 for at most a point of P@1 (`tailwright.runs.trade`).
    """

    tail: float = Field(ge=0, le=1)
    rows: int = Field(ge=0)
    p1: float  # how far P@1 changes
    psp5: float

    def __str__(self) -> str:
        """In words: `--tail 0.3 (held-out rows: PSP@5 +4.1, P@1 -0.9)`."""
        return f"--tail {self.tail:g} (held-out rows: PSP@5 {self.psp5:+.1f}, P@1 {self.p1:+.1f})"


class Measurement(_Facts):
    """How good a run was before it was saved: all metrics in percent, and which rows they are of."""

    of: Literal["test", "held-out"]
    rows: int = Field(ge=1)
    metrics: dict[str, int | float]
    slices: dict[str, dict[str, int | float]]
    seconds: float = Field(ge=0)  # that it took

    def evaluated(self) -> dict[str, Any]:
        """The metrics and slices as `evaluate` gives them."""
        return {**self.metrics, "slices": self.slices}


class LaterStep(_Facts):
    """What came to a run after it was trained: labels by their texts, or rows that it learnt from too.

    `run` is the folder of the run as it was before, and `data` what came; empty if unknown.
    """

    kind: Literal["labels", "rows"]
    run: str
    data: TrainingData
    rows_before: int = Field(ge=0)
    rows_after: int = Field(ge=0)
    labels_before: int = Field(ge=0)
    labels_after: int = Field(ge=0)


class RunFacts(_Facts):
    """The whole of `run.json`.

    `train_rows` are original rows, `fraction` their share of the training rows that were read. Where rows
    were held out, `calibration` is how scores become probabilities, and `tail` what they recommend.
    `measured` is None where nobody asked for it, or where there were no rows for it. `data` is what the run
    was trained on first, `later` what came afterwards.
    """

    model: str
    settings: dict[str, Any]
    augment: list[AppliedAugmentation]
    seed: int = Field(ge=0)
    train_rows: int = Field(ge=0)
    fraction: float = Field(gt=0, le=1)
    data: TrainingData
    versions: dict[str, str]
    calibration: Calibration | None = None
    tail: TailAdvice | None = None
    measured: Measurement | None = None
    later: list[LaterStep] = []
