"""A run folder that was replaced is loaded beside the old one, which answers until the new one is ready."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tailwright.serving.hosted import Hosted, hosted, version_of
from tailwright.serving.log import say
from tailwright.serving.service import Service
from tailwright.serving.settings import RunAddress


class Reloader:
    """Looks at the run folders from time to time, and when `wake` is called."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._woken = asyncio.Event()
        # The files of a folder as they were last; a broken folder is tried again when they change.
        self._seen: dict[str, dict[str, tuple[int, int, int]]] = {}

    def wake(self) -> None:
        """Look now."""
        self._woken.set()

    async def run(self) -> None:
        """Until the task is cancelled; a first look finds what was replaced while it was loaded."""
        every = self._service.settings.reload_every or None
        while True:
            for address in self._service.settings.runs:
                await self._look(address, self._service.host(address.name))
            try:
                await asyncio.wait_for(self._woken.wait(), every)
                self._woken.clear()
            except asyncio.TimeoutError:
                pass

    async def _look(self, address: RunAddress, old: Hosted) -> None:
        files = await asyncio.to_thread(_files, old.folder)
        if files is None or files == self._seen.get(address.name):
            return
        self._seen[address.name] = files
        reloads, settings = self._service.metrics.reloads, self._service.settings
        try:
            if await asyncio.to_thread(version_of, old.folder) == old.version:
                return
            new = await asyncio.to_thread(hosted, address, settings.limits, self._service.metrics)
        except Exception as error:  # whatever is wrong with the new folder, the old run goes on
            reloads.labels(address.name, "failed").inc()
            say("reload failed", model=address.name, error=str(error), serving=old.version)
            return
        self._service.swap(new)
        reloads.labels(address.name, "loaded").inc()
        say("reloaded", model=address.name, version=new.version, before=old.version)


def _files(folder: Path) -> dict[str, tuple[int, int, int]] | None:
    """Names, sizes and times of all files; None if there are none, as while a folder is being replaced."""
    try:
        found = {str(path): path.stat() for path in folder.rglob("*") if path.is_file()}
    except OSError:
        return None
    return {path: (info.st_size, info.st_mtime_ns, info.st_ino) for path, info in found.items()} or None
