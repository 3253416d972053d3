"""`RayWorkers`: the cells of a study as tasks of a Ray cluster.

A task starts the process that a cell has without Ray, on whichever node Ray chooses, and waits for it: so the
memory that is measured is the cell's own, locks and shared work are the same files, and a cell whose
task is lost goes on from its checkpoint. The process ends with its task, and the task with the study.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tailwright.cluster.connection import Cluster
from tailwright.cluster.tasks import RETRIES
from tailwright.errors import InputError, TailwrightError
from tailwright.models import Model, models
from tailwright.settings import settings_from
from tailwright.store.errors import errors_of_writing
from tailwright.store.strict_json import decode, encode
from tailwright.study.plan.cells import Cell
from tailwright.study.run.exam import exam_of
from tailwright.study.run.outcomes import is_finished
from tailwright.study.run.trial import rows_of
from tailwright.study.run.worker import Ended, environment_of, failed, reason_of, start_worker
from tailwright.training.memory import MB

STOP = "stop"  # a file in a cell's folder: its task shall end
SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_TO_STOP = 10.0
SECONDS_UNSEEN = 60.0
SHARE_IT = "--out must be on storage that all nodes see"
LACK_OF_MEMORY = "its node ran out of memory twice; --workers N with fewer workers needs less"


@dataclass(frozen=True)
class RayWorkers:
    """Runs cells of the study in `study`, a folder that all nodes see, as tasks of the cluster."""

    cluster: Cluster
    study: Path

    def __post_init__(self) -> None:
        most = max(int(node.get("CPU", 0)) for node in _nodes())
        if self.cluster.threads > most:
            raise InputError(
                f"--threads {self.cluster.threads}", expected=f"at most the {most} cores of a node"
            )

    @property
    def count(self) -> int:
        return self.cluster.workers

    def start(self, key: str, cell: Cell, folder: Path, curves: bool) -> CellTask:
        with errors_of_writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / STOP).unlink(missing_ok=True)
        asked = _Asked(key, cell, folder.resolve(), self.study.resolve(), self.cluster.threads, curves)
        # A task that asks for more than any node has would wait for ever: the process itself refuses then.
        memory = min(memory_mb(cell) * MB, max(node.get("memory", 0.0) for node in _nodes()))
        return CellTask(asked, int(memory))


@dataclass(frozen=True)
class _Asked:
    """All that a task must know."""

    key: str
    cell: Cell
    folder: Path
    study: Path
    threads: int
    curves: bool


@dataclass
class CellTask:
    """A cell that a task of the cluster runs; a task that is lost is started again."""

    asked: _Asked
    memory: int  # bytes that Ray keeps free for it
    began: float = field(default_factory=time.monotonic)
    lost: int = 0
    short_of_memory: int = 0
    unseen_since: float | None = None

    def __post_init__(self) -> None:
        self._reference = self._submitted()

    @property
    def key(self) -> str:
        return self.asked.key

    @property
    def cell(self) -> Cell:
        return self.asked.cell

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def ended(self) -> Ended | None:
        import ray
        from ray import exceptions

        if not ray.wait([self._reference], timeout=0)[0]:
            return None
        try:
            return self._seen(ray.get(self._reference))
        except exceptions.OutOfMemoryError:
            self.short_of_memory += 1
            if self.short_of_memory > 1:
                return failed(self.asked.folder, LACK_OF_MEMORY)
        except exceptions.RayTaskError as error:
            return failed(self.asked.folder, str(error.cause), str(error).splitlines())
        except exceptions.RayError:
            self.lost += 1
            if self.lost > RETRIES:
                return failed(self.asked.folder, f"its worker of the cluster was lost {self.lost} times")
        self._reference = self._submitted()
        return None

    def _seen(self, ended: Ended) -> Ended | None:
        """How the task says it ended, once this machine sees it: storage that is shared may take a while."""
        folder = self.asked.folder
        if ended.how == "failed" and reason_of(folder) is None:
            return failed(folder, ended.reason)
        if ended.how != "finished" or is_finished(folder):
            return ended
        self.unseen_since = self.unseen_since or time.monotonic()
        if time.monotonic() - self.unseen_since < SECONDS_UNSEEN:
            return None
        return failed(folder, f"it ended on a node that does not share {self.asked.study}: {SHARE_IT}")

    def stop(self) -> None:
        """Ask its task to end: Ray's own way ends this process if the task is done in the same moment."""
        import ray

        asks = self.asked.folder / STOP
        with suppress(OSError):  # of a full disk: the task ends with the connection
            asks.touch()
            if ray.wait([self._reference], timeout=SECONDS_TO_STOP)[0]:
                asks.unlink()

    def _submitted(self) -> Any:
        import ray

        # Lost tasks are started again here: Ray would start one that has too little memory without end.
        task = ray.remote(num_cpus=self.asked.threads, memory=self.memory, max_retries=0)(run_cell)
        return task.remote(self.asked)


def run_cell(asked: _Asked) -> Ended:
    """What a task does, on its node: the process of a cell, from its start to its end."""
    if not asked.study.is_dir():
        where = f"node {socket.gethostname()} does not see {asked.study}"
        return Ended("failed", f"{where}: {SHARE_IT}")
    environment = environment_of(asked.study / "shared", asked.threads)
    worker = start_worker(asked.key, asked.cell, asked.folder, environment, asked.curves)
    try:
        while (ended := worker.ended()) is None:
            if (asked.folder / STOP).exists():
                raise TailwrightError("stopped with the study")
            time.sleep(SECONDS_BETWEEN_LOOKS)
    except BaseException:
        worker.stop()
        raise
    return ended


def memory_mb(cell: Cell) -> float:
    """The peak that the cell's model forecasts, without rows that are added; 0 if it forecasts none."""
    kind = models.get(cell.model)
    if cell.ensemble or kind.forecast is Model.forecast:
        return 0.0
    return _forecast_mb(encode([cell.path, cell.valid, cell.fraction, cell.model, dict(cell.settings)]))


@lru_cache(maxsize=1024)
def _forecast_mb(asked: bytes) -> float:
    path, valid, fraction, model, settings = decode(asked)
    cell = Cell("", path, model, valid=valid, fraction=fraction)
    kind = models.get(model)
    need = kind(settings_from(kind.Settings, settings)).forecast(rows_of(cell, exam_of(cell).corpus))
    return 0.0 if need is None else need.peak_mb()


def _nodes() -> list[dict[str, float]]:
    """The resources of each node that is alive."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]
