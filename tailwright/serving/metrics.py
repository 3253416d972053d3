"""What Prometheus reads at `/metrics`, summed over all worker processes.

Worker processes keep their values in files of a folder (`PROMETHEUS_MULTIPROC_DIR`), which is set before this
module is imported; whichever process is asked adds up the files.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The numbers of one server; of its process alone unless several share a folder."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "tailwright_requests", "Requests that were answered.", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "tailwright_request_seconds",
            "Time from a request's headers to its answer.",
            ["route"],
            buckets=SECONDS,
            registry=registry,
        )
        self.batch = Histogram(
            "tailwright_batch_texts",
            "Texts that a model read at a time.",
            ["model"],
            buckets=TEXTS,
            registry=registry,
        )
        self.waiting = Gauge(
            "tailwright_queue_texts",
            "Texts that wait.",
            ["model", "queue"],
            multiprocess_mode="livesum",
            registry=registry,
        )
        self.rejected = Counter(
            "tailwright_rejected", "Requests that a full queue turned away.", ["model"], registry=registry
        )
        self.reloads = Counter(
            "tailwright_reloads", "Replaced run folders.", ["model", "outcome"], registry=registry
        )

    def text(self) -> bytes:
        """All numbers in Prometheus' text format."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
