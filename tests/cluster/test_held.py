"""What takes long to unpack is sent once, and unpacked once by each worker."""

from __future__ import annotations

import os
from pathlib import Path

from tailwright.cluster.tasks import RayTasks
from tailwright.training.executor import Held


class Counted:
    """Leaves a file behind whenever it is packed or unpacked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getstate__(self) -> Path:
        self._leave("packed", self.folder)
        return self.folder

    def __setstate__(self, folder: Path) -> None:
        self.folder = folder
        self._leave(f"unpacked by {os.getpid()}", folder)

    @staticmethod
    def _leave(name: str, folder: Path) -> None:
        (folder / f"{name}, {len(list(folder.iterdir()))}").touch()


def added(held: Held[Counted], piece: int) -> int:
    assert held.thing.folder.is_dir()
    return piece + 1


def test_a_held_thing_is_sent_once_and_unpacked_once_by_a_worker(cluster, tmp_path):
    held = Held(Counted(tmp_path))
    for _ in range(2):
        assert dict(RayTasks(cluster).run(added, held, list(range(8)))) == {i: i + 1 for i in range(8)}
    names = [path.name.partition(",")[0] for path in tmp_path.iterdir()]
    assert names.count("packed") == 1
    unpacked = [name for name in names if name != "packed"]
    assert 1 <= len(unpacked) == len(set(unpacked))
