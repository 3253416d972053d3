"""The process that runs pipelines: an actor of the cluster, without a core of its own.

Ray Data plans and schedules in the process that calls it, which must be part of the cluster; a client at
`ray://HOST:PORT` is none. What Ray says meanwhile goes to its logs, not among the lines of a command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tailwright.cluster.labelling_pipeline import Pipeline
from tailwright.errors import TailwrightError

LOST_PIPELINES = 3


class PipelineDriver:
    """Runs a pipeline and gives its lines, one at a time."""

    def __init__(self) -> None:
        import ray.data  # noqa: F401 takes a second, in which nothing has to wait for it yet

        self._lines: Iterator[str] = iter(())

    def start(self, pipeline: Pipeline) -> None:
        self._lines = pipeline.lines()

    def next(self) -> str | None:
        """The next line, or None after the last."""
        return next(self._lines, None)


class Pipelines:
    """Starts an actor to run pipelines in; a context that ends it."""

    def __enter__(self) -> Pipelines:
        self._driver = _started()
        return self

    def __exit__(self, *error: object) -> None:
        import ray

        ray.kill(self._driver)

    def lines(self, pipeline: Callable[[], Pipeline]) -> Iterator[str]:
        """The lines of a pipeline; one that is lost with its node is begun again with what is left then."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        for lost in range(1, 2 + LOST_PIPELINES):
            try:
                ray.get(self._driver.start.remote(pipeline()))
                while (line := ray.get(self._driver.next.remote())) is not None:
                    yield line
            except RayTaskError as error:  # noqa: PERF203 (once for each pipeline)
                raise _behind(error) from error
            except RayActorError as error:
                if lost > LOST_PIPELINES:
                    raise TailwrightError(f"the cluster lost {lost} pipelines; --resume goes on") from error
                self._driver = _started()
            else:
                return


def _started() -> Any:
    """The actor, on the node of this process: if that is lost, so is this process. A client has no node."""
    import ray
    from ray.util.client import ray as client
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    actor = ray.remote(num_cpus=0)(PipelineDriver)
    if not client.is_connected():
        node = ray.get_runtime_context().get_node_id()
        actor = actor.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
    return actor.remote()


def _behind(error: BaseException) -> Exception:
    """The error of ours behind those of Ray, or a line on the cluster."""
    from ray.exceptions import RayError

    seen: BaseException | None = error
    while isinstance(seen, RayError):
        behind = getattr(seen, "cause", None) or seen.__cause__
        seen = None if behind is seen else behind
    if isinstance(seen, Exception):
        return seen
    return TailwrightError(f"the cluster cannot go on: {' '.join(str(error).split())[-200:]}")
