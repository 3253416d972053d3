"""`--on` and `--workers` of commands whose work comes in pieces."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tailwright.errors import InputError


def check_on(on: str | None, workers: int | None) -> None:
    """InputError for an address of another form, for missing Ray, and for `--workers` without `--on`."""
    if on is None:
        if workers is not None:
            raise InputError("--workers without --on", expected="--on ray, or --on ray://HOST:PORT")
        return
    from tailwright.cluster.connection import check_address

    check_address(on)


@contextmanager
def working_on(on: str | None, workers: int | None, threads: int | None) -> Iterator[dict[str, Any]]:
    """Within it pieces of work are done by the cluster, or by this process if there is none.

    What it gives belongs in the result of the command: the workers, and how long the cluster took to start.
    """
    if on is None:
        yield {}
        return
    from tailwright.cluster.connection import connected
    from tailwright.cluster.tasks import RayTasks
    from tailwright.training.executor import executing_on

    start = time.perf_counter()
    with connected(on, workers=workers, threads=threads) as cluster, executing_on(RayTasks(cluster)):
        seconds = round(time.perf_counter() - start, 3)
        yield {"on": on, "workers": cluster.workers, "cluster_seconds": seconds}
