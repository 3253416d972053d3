"""One cluster of two cores for all tests of a worker, on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailwright.cluster.connection import Cluster, connected


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Its workers find modules of the tests, as this process does."""
    tests = Path(__file__).resolve().parent
    with pytest.MonkeyPatch.context() as patch:
        paths = [str(tests), str(tests.parent), str(tests.parent.parent), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        with connected("ray", workers=2) as here:
            yield here
