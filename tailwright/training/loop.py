"""The training loop: runs phases, logs epochs, stops early, and goes on from a checkpoint to the same bits.

A checkpoint holds all that later steps depend on: the weights, the moments, the averages, what the epoch was
prepared with, the best weights so far and the place in the run. Everything drawn at random is keyed by seed
and step, so a run that was killed at any moment and resumed ends with the weights of one that was not.

A batch can be cut: into the shares of several processes (`tailwright.training.team`), and these into
micro-batches. A piece draws from a stream of its own, named by the row of the batch that it begins at, so two
processes learn what one learns with micro-batches of the size of their shares.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

from tailwright.errors import TailwrightError
from tailwright.progress import progress
from tailwright.store.shared import shared, shared_folder
from tailwright.training.batches import batch_stream
from tailwright.training.checkpoints import Place, RunState, read_place
from tailwright.training.named_arrays import Arrays
from tailwright.training.network import Network
from tailwright.training.phases import Phase
from tailwright.training.swa import Averages
from tailwright.training.team import Team, current_team
from tailwright.training.workplace import Workplace

log = logging.getLogger(__name__)


def run_phases(
    network: Network, phases: Sequence[Phase], *, seed: int, work: Workplace | None = None
) -> None:
    """Train a network through phases, in place; it ends in evaluation mode, where frozen children stay."""
    work = work or Workplace()
    team = current_team()
    network.begin(team)
    _say_what_is_never_averaged(phases, work)
    saved = work.restore(mapped=bool(network.shards()))
    start = 0 if saved is None else read_place(saved).phase

    @cache
    def changing() -> set[str]:
        return {name for phase in phases for name in network.trained(phase.plan)} | {*network.statistics()}

    for number in range(start, len(phases)):
        phase = phases[number]
        optimisers = network.optimisers(phase.plan)
        averages = Averages(phase.plan.averaging, network, optimisers.rates)
        run = RunState(Place(phase=number), network, optimisers, averages, changing)
        if saved is not None:
            run.restore(saved)
            work.log("resume", phase=phase.name, epoch=run.place.epoch + 1, batch=run.place.batch)
            saved = None
        with work.phase(phase.name, rows=phase.rows, epochs=phase.plan.epochs):
            if phase.key is None or shared_folder() is None or team.size > 1:
                _run_phase(phase, run, seed, work)
            else:
                _run_phase_once(phase, phase.key, run, seed, work)


def _say_what_is_never_averaged(phases: Sequence[Phase], work: Workplace) -> None:
    """One line if a phase is to average its weights from an epoch on that it does not reach."""
    late = {}
    for phase in phases:
        averaging, epochs = phase.plan.averaging, phase.plan.epochs
        if averaging is not None and averaging.start >= epochs:
            late[phase.name] = f"{phase.name} (average_from {averaging.start}, epochs {epochs})"
    if late:
        problem = f"weights are never averaged in {', '.join(late.values())}: epochs are counted from 0"
        work.log("warning", phases=list(late), problem=problem)
        if current_team().leads:
            log.warning("%s", problem)


def _run_phase(phase: Phase, run: RunState, seed: int, work: Workplace) -> None:
    place, plan = run.place, phase.plan
    left = (plan.epochs - place.epoch) * phase.rows - place.batch * plan.batch
    with progress(phase.name, max(left, 0)) as advance:
        while place.epoch < plan.epochs and not place.stops(plan.patience):
            if not run.epoch:
                # First, because a phase may begin with weights that another one ended with.
                run.epoch = phase.prepare(place.epoch, seed)
                run.averages.begin_epoch(place.epoch)
            run.optimisers.switch_training(True)
            started = time.monotonic()
            while place.batch < phase.batches and not place.stops(plan.patience):
                rows = run.epoch["order"][place.batch * plan.batch : (place.batch + 1) * plan.batch]
                _step(phase, run, rows, seed, work)
                advance(len(rows))
                _keep(run, work)
            _end_epoch(phase, run, time.monotonic() - started, work)
    run.network.put(run.best or run.averages.means)


def _run_phase_once(phase: Phase, key: Callable[[], str], run: RunState, seed: int, work: Workplace) -> None:
    """Run a phase, or what is left of it, or take the weights that another training has run it for."""

    def trained() -> Arrays:
        _run_phase(phase, run, seed, work)
        return {name: array.copy() for name, array in run.network.weights(run.optimisers.changed).items()}

    weights = shared(
        "trained-phase",
        key,
        trained,
        lambda folder, made: folder.tensors("weights", made),
        lambda folder: folder.tensors("weights"),
    )
    run.network.put(weights)


def _step(phase: Phase, run: RunState, rows: np.ndarray, seed: int, work: Workplace) -> None:
    place, plan, team = run.place, phase.plan, current_team()
    step, steps = place.epoch * phase.batches + place.batch, plan.epochs * phase.batches
    mine = team.share(rows)
    share = 1.0 if team.size == 1 else phase.mass(mine) / max(phase.mass(rows), 1e-12)
    learnt = _learn(phase, run, mine, team.place(len(rows)), step, seed)
    if run.network.shards():
        _stand_by(phase, len(rows), team)
    value = team.total(share * learnt)
    if not math.isfinite(value):
        where = f"epoch {place.epoch + 1}, batch {place.batch + 1} of phase {phase.name}"
        raise TailwrightError(f"the loss is {value} at {where}; a lower learning rate may help")
    run.optimisers.step(plan.schedule.factor(step, steps), share=share, team=team, mass=phase.mass(rows))
    run.averages.after_step(step, place.batch)
    place.loss += value
    place.batch += 1
    if plan.validate_every is not None and ((step + 1) % plan.validate_every == 0 or step + 1 == steps):
        with _evaluating(run):
            quality = _judge(phase, run)
        run.optimisers.switch_training(True)
        if quality is not None:
            work.log("validation", phase=phase.name, step=step + 1, epoch=place.epoch + 1, valid=quality)


def _learn(phase: Phase, run: RunState, rows: np.ndarray, begin: int, step: int, seed: int) -> float:
    """The mean loss of rows that begin at row `begin` of their batch; the optimisers have the gradients."""
    size = phase.plan.micro_batch or max(len(rows), 1)
    whole, value = phase.mass(rows), 0.0
    for start in range(0, len(rows), size):
        piece = rows[start : start + size]
        counts = 1.0 if len(piece) == len(rows) else phase.mass(piece) / max(whole, 1e-12)
        random = batch_stream(seed, phase.name, step, begin + start)
        value += counts * run.optimisers.learn(partial(phase.loss, piece, random, run.epoch), counts)
    return value


def _stand_by(phase: Phase, rows: int, team: Team) -> None:
    """While the leader, who has the most of so many rows, computes more losses than this process has."""
    sizes = [len(one.share(np.arange(rows))) for one in (Team(0, team.size), team)]
    most, own = (-(-size // (phase.plan.micro_batch or max(size, 1))) for size in sizes)
    for _ in range(most - own):
        phase.stand_by()


def _keep(run: RunState, work: Workplace) -> None:
    """Write a checkpoint if it is time for one, to which all give what they have of sharded parameters."""
    team = current_team()
    if not run.network.shards():
        work.checkpoint(run.save)
    elif team.told(lambda: float(work.checkpoint_is_due())):
        if team.leads:
            work.checkpoint(partial(run.save, scratch=work.folder), now=True)
        else:
            run.lend()


def _end_epoch(phase: Phase, run: RunState, seconds: float, work: Workplace) -> None:
    place = run.place
    facts: dict[str, Any] = {}
    with _evaluating(run):
        if phase.plan.validate_every is None:
            quality = _judge(phase, run)
            facts = {} if quality is None else {"valid": quality}
        if current_team().leads or run.network.shards():
            started = time.monotonic()
            watched = phase.watched()
            if watched:
                facts |= {"watched": dict(watched), "watch_seconds": round(time.monotonic() - started, 3)}
    mean = place.loss / max(place.batch, 1)
    work.log("epoch", phase=phase.name, epoch=place.epoch + 1, loss=mean, seconds=round(seconds, 3), **facts)
    run.epoch = {}
    place.epoch, place.batch, place.loss = place.epoch + 1, 0, 0.0


def _judge(phase: Phase, run: RunState) -> float | None:
    """Validate the weights as they are, and keep the best."""
    team = current_team()
    if run.network.shards():  # all rank their own labels; what the leader makes of it counts
        found = phase.validate()
        quality = team.told(lambda: found)
    else:
        quality = team.told(phase.validate)
    if quality is not None and run.place.judged(quality):
        run.best = {n: array.copy() for n, array in run.network.weights(run.optimisers.changed).items()}
    return quality


@contextmanager
def _evaluating(run: RunState) -> Iterator[None]:
    """The network in evaluation mode, with the weights that would be kept now: averaged ones, if any."""
    run.optimisers.switch_training(False)
    with run.averages.swapped_in():
        yield
