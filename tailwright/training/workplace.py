"""`Workplace`: where a fit logs its phases and keeps checkpoints, so that a killed one can go on.

| in the folder | holds |
|---|---|
| `log.jsonl` | one line an event: start, end, seconds and peak memory of each phase; what the fit says |
| `checkpoint/` | the newest checkpoint, a safe folder replaced in one step |
| `PART/` | the same of a part of the fit, but for the log |
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailwright.store import FolderReader, FolderWriter


class Workplace:
    """Logs and checkpoints of one fit. Without a folder nothing is kept, which is right for short fits.

    `resume` makes `restore` give the checkpoint that an earlier, unfinished fit left in the folder.
    Of several processes that fit together only one `writes`: for the others `folder` is None, and a
    checkpoint is read from where the first one left it (`reads`).
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        resume: bool = False,
        checkpoint_seconds: float = 60.0,
        writes: bool = True,
    ) -> None:
        if checkpoint_seconds < 0:
            raise ValueError(f"checkpoint_seconds must be >= 0, got {checkpoint_seconds}")
        self.folder = folder if writes else None
        self.reads, self.writes = folder, writes
        self.resume = resume
        self.checkpoint_seconds = checkpoint_seconds
        self._last_checkpoint = time.monotonic()
        self._log_folder = self.folder
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def sub(self, name: str) -> Workplace:
        """A place for one part of the fit, with checkpoints of its own; it logs to the same file."""
        folder = None if self.reads is None else self.reads / name
        part = Workplace(
            folder, resume=self.resume, checkpoint_seconds=self.checkpoint_seconds, writes=self.writes
        )
        part._log_folder = self._log_folder
        return part

    @contextmanager
    def phase(self, name: str, **facts: Any) -> Iterator[None]:
        """A named part of the fit: its start, end, seconds and the peak memory so far are logged."""
        start = time.monotonic()
        self.log("start", phase=name, **facts)
        yield
        seconds = round(time.monotonic() - start, 3)
        self.log("end", phase=name, seconds=seconds, peak_rss_mb=peak_rss_mb())

    def log(self, event: str, **facts: Any) -> None:
        """One line in log.jsonl."""
        if self._log_folder is None:
            return
        line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, allow_nan=False)
        with (self._log_folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def checkpoint(self, save: Callable[[FolderWriter], None], *, now: bool = False) -> None:
        """Let `save` write a checkpoint if the last one is `checkpoint_seconds` old, or at once if `now`."""
        if self.folder is None:
            return
        if not now and time.monotonic() - self._last_checkpoint < self.checkpoint_seconds:
            return
        from tailwright.store import writing

        with writing(self.folder / "checkpoint", kind="checkpoint", overwrite=True) as folder:
            save(folder)
        self._last_checkpoint = time.monotonic()

    def restore(self) -> FolderReader | None:
        """The checkpoint to go on from, if this fit resumes one."""
        from tailwright.store import open_folder

        if not self.resume or self.reads is None or not (self.reads / "checkpoint").exists():
            return None
        return open_folder(self.reads / "checkpoint", kind="checkpoint")


def peak_rss_mb() -> float:
    """The largest resident memory of this process so far, in MB."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        # getrusage would count what the parent held when it forked, VmHWM starts with this program.
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)
    except (OSError, IndexError):
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)
