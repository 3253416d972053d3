"""`train_together`: one torch model, trained by the workers of a cluster that share its batches.

Ray Train (`ray.train.torch.TorchTrainer`) starts a process for each worker and connects them. Each then does
what it would do under torchrun: it reads the corpus and calls `tailwright.runs.training.train`, the training
loop shares its batches with the others (`tailwright.training.team`), and the process of rank 0 writes. So the
loss curve is that of one process.

A lost worker ends the others, whose sums lack its rows. All are then started anew, and go on from the
checkpoint in `RUN.partial` as `--resume` does. They are started anew here and not by Ray's `FailureConfig`,
which would also try a mistake of the user again.
"""

from __future__ import annotations

import os
import queue
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tailwright.cluster.connection import Cluster
from tailwright.data.corpus import Corpus
from tailwright.data.read import read
from tailwright.errors import InputError, TailwrightError
from tailwright.models import models
from tailwright.runs.run import Run, load
from tailwright.runs.training import train
from tailwright.runs.unfinished import partial_of
from tailwright.store.errors import errors_of_writing
from tailwright.store.holding import holding
from tailwright.training.team import PATIENCE

RESTARTS = 3  # of a team that has lost a worker
LOOPBACK = "lo"
# Ray looks at the workers every 2 s and gives up after a minute without them; a small training is shorter
# than the one, and the imports of a busy machine can take longer than the other.
_OF_RAY_TRAIN = {"RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2", "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "600"}


@dataclass(frozen=True)
class CorpusOnDisk:
    """A corpus that every worker reads for itself, as `tailwright.read(path, seed=seed, **options)` does."""

    path: Path
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> Corpus:
        return read(self.path, seed=self.seed, **self.options)


@dataclass(frozen=True)
class _Task:
    """What each process of a team is told."""

    data: Corpus | CorpusOnDisk
    model: str
    out: Path
    resume: bool
    asked: Mapping[str, Any]  # other arguments of `train`
    folder: Path  # that relative paths start from
    place: Path  # of Ray Train, beside `out`


def trains_together(model: str) -> bool:
    """Whether a team can train the model: all that torch computes is trained by the loop, which shares."""
    return "+" not in model and models.card(model).extra == "deep"


def train_together(
    cluster: Cluster,
    data: Corpus | CorpusOnDisk,
    model: str,
    *,
    out: Path,
    resume: bool = False,
    **asked: Any,
) -> Run:
    """The run in `out`, trained by all workers of the cluster; `asked` are other arguments of `train`.

    `out`, and a corpus on disk, are on a file system that all workers share.
    """
    _check_room(cluster)
    with _place_of_ray(out) as place:
        task = _Task(data, model, out, resume, asked, Path.cwd(), place)
        for restart in range(RESTARTS + 1):
            try:
                _run(cluster, task, f"attempt-{restart}")
                break
            except _WorkerLostError as lost:
                if restart == RESTARTS:
                    raise TailwrightError(f"{lost}, {RESTARTS + 1} times; --resume goes on") from lost
                task = replace(task, resume=True)
    return load(out)


class _WorkerLostError(Exception):
    """A worker is gone, or could not speak with the others."""


def _check_room(cluster: Cluster) -> None:
    """An InputError for more workers than the cluster has cores for: Ray would wait for others for ever."""
    import ray

    cores = int(ray.cluster_resources().get("CPU", 0))
    if cluster.workers * cluster.threads > cores:
        asked = f"{cluster.workers} workers of {cluster.threads} threads on {cores} cores"
        raise InputError(asked, expected="all workers to have their cores: they train at the same time")


@contextmanager
def _place_of_ray(out: Path) -> Iterator[Path]:
    """A folder beside the run for what Ray Train writes, gone in the end, as is one of a killed command."""
    place = out.with_name(f".{partial_of(out).stem}.ray")
    with holding(place), errors_of_writing(place):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        try:
            yield place.absolute()
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _run(cluster: Cluster, task: _Task, name: str) -> None:
    """Let the workers train; the error of one of them, or a _WorkerLostError."""
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
    from ray.train.torch import TorchConfig, TorchTrainer

    for variable, value in _OF_RAY_TRAIN.items():
        os.environ.setdefault(variable, value)
    resources = ray.cluster_resources()
    on_gpus = task.asked.get("device") != "cpu" and resources.get("GPU", 0) >= cluster.workers
    environment = {}
    if ray.util.get_node_ip_address().startswith("127.") and "GLOO_SOCKET_IFNAME" not in os.environ:
        environment = {"GLOO_SOCKET_IFNAME": LOOPBACK}  # as the cluster does, speak on loopback alone
    trainer = TorchTrainer(
        partial(_train_here, task),
        torch_config=TorchConfig(
            backend="cpu:gloo,cuda:nccl" if on_gpus else "gloo", timeout_s=int(PATIENCE.total_seconds())
        ),
        scaling_config=ScalingConfig(
            num_workers=cluster.workers, use_gpu=on_gpus, resources_per_worker={"CPU": cluster.threads}
        ),
        run_config=RunConfig(
            name=name,
            storage_path=str(task.place),
            failure_config=FailureConfig(max_failures=0, controller_failure_limit=RESTARTS),
            worker_runtime_env={"env_vars": environment},
        ),
    )
    try:
        _in_a_thread(trainer.fit)
    except TrainingFailedError as error:
        raise _of_workers(error) from error


def _in_a_thread(work: Any) -> None:
    """Call it beside the main thread, in which Ray Train would take over Ctrl-C."""
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def called() -> None:
        try:
            work()
        except BaseException as error:
            ended.put(error)
        else:
            ended.put(None)

    threading.Thread(target=called, daemon=True, name="ray-train").start()
    error = ended.get()
    if error is not None:
        raise error


def _of_workers(error: Exception) -> Exception:
    """What is to be raised for the failures of a team, by rank: a mistake or a bug before a lost worker.

    The others fail, too, when one is lost: their connection to it ends, which torch calls a RuntimeError.
    """
    failures: Mapping[int, Exception] = getattr(error, "worker_failures", {})
    by_rank = [failures[rank] for rank in sorted(failures)]
    raised = [one for one in by_rank if not type(one).__module__.startswith("ray.")]
    for found in raised:
        if isinstance(found, TailwrightError):
            return found
    lost = [one for one in by_rank if one not in raised]
    for found in raised:
        if not lost and not isinstance(found, RuntimeError):
            return found
    what = next(iter([*lost, *raised]), error)
    what = getattr(what, "health_check_failure", what)
    lines = str(what).strip().splitlines() or [""]
    return _WorkerLostError(f"a worker of the cluster was lost ({type(what).__name__}: {lines[0]})")


def _train_here(task: _Task) -> None:
    """What each worker does."""
    if not task.place.is_dir():
        found = f"no such folder on {socket.gethostname()}"
        raise InputError(
            found, expected="--out on a file system that all nodes share", path=task.place.parent
        )
    os.chdir(task.folder)  # Ray Train has gone elsewhere
    try:
        corpus = task.data.read() if isinstance(task.data, CorpusOnDisk) else task.data
        train(corpus, model=task.model, out=task.out, resume=task.resume, **task.asked)
    except TailwrightError as error:
        # As a class whose errors survive the way to another process.
        kind = InputError if isinstance(error, InputError) else TailwrightError
        raise kind(str(error)) from None
