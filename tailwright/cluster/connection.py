"""`connected`: a Ray cluster to work on, started on this machine or found at an address."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tailwright.code_version import code_version
from tailwright.errors import InputError, TailwrightError, quoted, require_extra
from tailwright.training.threads import THREAD_VARIABLES

LOCAL = "ray"
RUNNING = "RAY_ADDRESS"  # where Ray itself says, to a job for one, which cluster a process belongs to
_ADDRESS = re.compile(r"ray://[^/:\s]+:\d{1,5}")


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process is connected to: how many workers it is asked for, and their threads."""

    workers: int
    threads: int


def check_address(on: str) -> None:
    """An InputError unless it is `ray` or `ray://HOST:PORT`, or if Ray is not installed."""
    if on != LOCAL and not _ADDRESS.fullmatch(on):
        raise InputError(f"--on {quoted(on)}", expected="ray, for this machine, or ray://HOST:PORT")
    require_extra("ray", f"--on {on}")


@contextmanager
def connected(on: str, *, workers: int | None = None, threads: int | None = None) -> Iterator[Cluster]:
    """Work on the cluster `on`: `ray` starts one on this machine, which ends with the block.

    Where $RAY_ADDRESS names a cluster, as on its nodes and in its jobs, `ray` is that one.
    A worker has `threads` threads (default: 1), and there are `workers` of them (default: as many as the
    cluster has cores for). Every process of the cluster must have the same Tailwright installed. A process
    that is connected already stays so: `ray` then means the cluster that it is connected to.
    """
    check_address(on)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is told to anybody
    starts = on == LOCAL and not os.environ.get(RUNNING)
    if starts:  # Ray listens on loopback alone; it reads this when it is imported
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        # Its workers do what this process would do, at its priority; Ray would let all others go first.
        os.environ.setdefault("RAY_worker_niceness", "0")
    import ray

    of_each = threads or 1
    if ray.is_initialized() and on == LOCAL:
        yield _sized(workers, of_each)
        return
    environment = {"env_vars": dict.fromkeys(THREAD_VARIABLES, str(of_each))}
    options: dict[str, Any] = {
        "logging_level": logging.ERROR,
        "log_to_driver": False,
        "runtime_env": environment,
    }
    if starts:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        options |= {
            "address": "local",  # not one that another process on this machine has started
            "num_cpus": workers * of_each if workers else max(cores, of_each),
            "include_dashboard": False,
        }
    elif on != LOCAL:
        options["address"] = on
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a client, which says what the line below does
            ray.init(**options)
    except (ConnectionError, TimeoutError, ray.exceptions.AuthenticationError) as error:
        where = os.environ.get(RUNNING, on) if on == LOCAL else on
        expected = "one that runs, and its token in RAY_AUTH_TOKEN if it asks for one"
        raise InputError(f"no Ray cluster answers at {quoted(where)}", expected=expected) from error
    try:
        if not starts:
            _check_nodes()
        yield _sized(workers, of_each)
    finally:
        ray.shutdown()


def _sized(workers: int | None, threads: int) -> Cluster:
    import ray

    cores = int(ray.cluster_resources().get("CPU", 1))
    return Cluster(workers or max(1, cores // threads), threads)


def _check_nodes() -> None:
    """Every node must run this code: another version could give other results without a word."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    asked = ray.remote(num_cpus=0)(_version)
    mine = _version()
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    told = ray.get(
        [
            asked.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote()
            for node in nodes
        ]
    )
    for node, version in zip(nodes, told, strict=True):
        if version != mine:
            raise TailwrightError(f"node {node[:12]} runs another Tailwright: install the same on all nodes")


def _version() -> str:
    return code_version(["tailwright.runs.training", "tailwright.runs.predicting"])
