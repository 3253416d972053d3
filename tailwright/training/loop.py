"""The training loop: runs phases, logs epochs, stops early, and goes on from a checkpoint to the same bits.

A checkpoint holds all that later steps depend on: the weights, the moments, what the epoch was prepared with,
the best weights so far and the place in the run. Everything drawn at random is keyed by seed and step, so a
run that was killed at any moment and resumed ends with the weights of one that was not.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tailwright.encoders.row_table import RowTable
from tailwright.errors import TailwrightError
from tailwright.progress import progress
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.batches import batch_stream
from tailwright.training.optimisers import Optimisers
from tailwright.training.phases import Arrays, Parts, Phase
from tailwright.training.workplace import Workplace


@dataclass
class _Place:
    """Where a run is: the next batch to do, and what its epochs have shown so far."""

    phase: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0  # summed over the batches of this epoch
    best: float = -math.inf
    best_epoch: int = -1


@dataclass
class _Run:
    """All that changes while a run goes on."""

    place: _Place
    optimisers: Optimisers
    epoch: Arrays = field(default_factory=dict)
    best: Arrays = field(default_factory=dict)


def run_phases(parts: Parts, phases: Sequence[Phase], *, seed: int, work: Workplace | None = None) -> None:
    """Train `parts` through all phases, in place."""
    work = work or Workplace()
    saved = work.restore()
    start = 0 if saved is None else _read_place(saved).phase
    for number in range(start, len(phases)):
        phase = phases[number]
        run = _Run(_Place(phase=number), Optimisers(parts, phase.plan))
        if saved is not None:
            _restore(saved, parts, run)
            work.log("resume", phase=phase.name, epoch=run.place.epoch + 1, batch=run.place.batch)
            saved = None
        with work.phase(phase.name, rows=phase.rows, epochs=phase.plan.epochs):
            _run_phase(parts, phase, run, seed, work)


def _run_phase(parts: Parts, phase: Phase, run: _Run, seed: int, work: Workplace) -> None:
    place, plan = run.place, phase.plan
    left = (plan.epochs - place.epoch) * phase.rows - place.batch * plan.batch
    with progress(phase.name, max(left, 0)) as advance:
        while place.epoch < plan.epochs and not _stops(place, plan.patience):
            if not run.epoch:
                run.epoch = phase.prepare(place.epoch, seed)
            started = time.monotonic()
            while place.batch < phase.batches:
                rows = run.epoch["order"][place.batch * plan.batch : (place.batch + 1) * plan.batch]
                _step(phase, run, rows, seed)
                advance(len(rows))
                work.checkpoint(lambda folder: _save(folder, parts, run))
            _end_epoch(parts, phase, run, time.monotonic() - started, work)
    if run.best:
        _put(parts, run.best)


def _step(phase: Phase, run: _Run, rows: np.ndarray, seed: int) -> None:
    place = run.place
    step = place.epoch * phase.batches + place.batch
    loss = phase.loss(rows, batch_stream(seed, phase.name, step), run.epoch)
    value = float(loss.detach())
    if not math.isfinite(value):
        where = f"epoch {place.epoch + 1}, batch {place.batch + 1} of phase {phase.name}"
        raise TailwrightError(f"the loss is {value} at {where}; a lower learning rate may help")
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    run.optimisers.step(phase.plan.schedule.factor(step, phase.plan.epochs * phase.batches))
    place.loss += value
    place.batch += 1


def _end_epoch(parts: Parts, phase: Phase, run: _Run, seconds: float, work: Workplace) -> None:
    place = run.place
    quality = phase.validate()
    facts: dict[str, Any] = {} if quality is None else {"valid": quality}
    started = time.monotonic()
    watched = phase.watched()
    if watched:
        facts |= {"watched": dict(watched), "watch_seconds": round(time.monotonic() - started, 3)}
    mean = place.loss / max(phase.batches, 1)
    work.log("epoch", phase=phase.name, epoch=place.epoch + 1, loss=mean, seconds=round(seconds, 3), **facts)
    if quality is not None and quality > place.best:
        place.best, place.best_epoch = quality, place.epoch
        run.best = {name: array.copy() for name, array in _weights(parts, phase.plan.rates).items()}
    run.epoch = {}
    place.epoch, place.batch, place.loss = place.epoch + 1, 0, 0.0


def _stops(place: _Place, patience: int) -> bool:
    """Whether validation has not become better for `patience` epochs."""
    return place.best_epoch >= 0 and place.epoch - 1 - place.best_epoch >= patience


def _weights(parts: Parts, names: Collection[str] | None = None) -> Arrays:
    """The weights of the parts (or of those named) as arrays, which share their memory on the CPU."""
    found = {}
    for name in parts if names is None else names:
        part = parts[name]
        found[name] = part.weight if isinstance(part, RowTable) else part.detach().cpu().numpy()
    return found


def _put(parts: Parts, arrays: Arrays) -> None:
    for name, array in arrays.items():
        part = parts[name]
        if isinstance(part, RowTable):
            part.weight[...] = array
        else:
            part.detach().copy_(torch.from_numpy(array))


def _save(folder: FolderWriter, parts: Parts, run: _Run) -> None:
    place = dataclasses.asdict(run.place)
    place["best"] = None if run.place.best_epoch < 0 else run.place.best
    folder.json("place.json", place)
    folder.tensors("weights", _weights(parts))
    folder.tensors("optimisers", dict(run.optimisers.state()))
    folder.tensors("epoch", run.epoch)
    folder.tensors("best", run.best)


def _read_place(folder: FolderReader) -> _Place:
    place = folder.json("place.json")
    place["best"] = -math.inf if place["best"] is None else place["best"]
    return _Place(**place)


def _restore(folder: FolderReader, parts: Parts, run: _Run) -> None:
    run.place = _read_place(folder)
    shapes = {name: weight.shape for name, weight in _weights(parts).items()}
    _put(parts, folder.tensors("weights", shapes=shapes))
    run.optimisers.restore(folder.tensors("optimisers"))
    run.epoch = folder.tensors("epoch")
    run.best = folder.tensors("best")
