"""`Workplace`: where a fit logs its phases and keeps checkpoints, so that a killed fit can be resumed.

| in the folder | holds |
|---|---|
| `log.jsonl` | a line per event: start, end, seconds and peak memory of each phase, what the fit reports |
| `checkpoint/` | the newest checkpoint, a safe folder that is replaced in one step |
| `NAME/` | the same for one stage of the fit, except for the log |
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailwright.callbacks import Callbacks

if TYPE_CHECKING:  # heavy: models are listed without it
    from tailwright.store import FolderReader, FolderWriter


LOG = "log.jsonl"
LARGEST_SHARE = 0.05  # of the time that a fit may spend on checkpoints


class Workplace:
    """Logs and checkpoints of one fit. Without a folder nothing is kept, which suits short fits.

    With `resume`, `restore` gives the checkpoint that an earlier, unfinished fit left in the folder.
    Of several processes that fit together only one `writes`: for the others `folder` is None, and they read
    checkpoints from the folder `reads`. What is logged is told to `callbacks` too, with or without a folder.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        resume: bool = False,
        checkpoint_seconds: float = 60.0,
        writes: bool = True,
        callbacks: Callbacks | None = None,
    ) -> None:
        if checkpoint_seconds < 0:
            raise ValueError(f"checkpoint_seconds must be >= 0, got {checkpoint_seconds}")
        self.folder = folder if writes else None
        self.reads, self.writes = folder, writes
        self.resume = resume
        self.checkpoint_seconds = checkpoint_seconds
        self._last_checkpoint, self._writing_seconds = time.monotonic(), 0.0
        self._log_folder = self.folder
        self._callbacks = callbacks or Callbacks()
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def moved(self, folder: Path) -> Workplace:
        """The same log with another folder for everything else."""
        place = copy(self)
        place.folder = place.reads = folder
        return place

    def resumed(self) -> Workplace:
        """The same place, in which what is finished is not done again."""
        place = copy(self)
        place.resume = True
        return place

    def sub(self, name: str) -> Workplace:
        """A workplace for one stage of the fit, with its own checkpoints; it logs to the same file."""
        folder = None if self.reads is None else self.reads / name
        stage = Workplace(
            folder,
            resume=self.resume,
            checkpoint_seconds=self.checkpoint_seconds,
            writes=self.writes,
            callbacks=self._callbacks,
        )
        stage._log_folder = self._log_folder
        return stage

    @contextmanager
    def phase(self, name: str, **facts: Any) -> Iterator[None]:
        """Log the start, end, seconds and peak memory so far of a phase of the fit."""
        start = time.monotonic()
        self.log("start", phase=name, **facts)
        yield
        seconds = round(time.monotonic() - start, 3)
        self.log("end", phase=name, seconds=seconds, peak_rss_mb=peak_rss_mb())

    def log(self, event: str, **facts: Any) -> None:
        """Append a line to log.jsonl, and tell callbacks of it."""
        if self._log_folder is None:
            self.tell(event, **facts)
            return
        line = _line(event, facts)
        with (self._log_folder / LOG).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        self._callbacks.tell(line)

    def tell(self, event: str, **facts: Any) -> None:
        """Tell callbacks of an event that is not logged."""
        if self._callbacks:
            self._callbacks.tell(_line(event, facts))

    def checkpoint(self, save: Callable[[FolderWriter], None], *, now: bool = False) -> None:
        """Let `save` write a checkpoint if the last one is `checkpoint_seconds` old, or `now`.

        It is left to be older where it took long to write, so that a large model does not spend its time on
        checkpoints.
        """
        if self.folder is None or not (now or self.checkpoint_is_due()):
            return
        started = time.monotonic()
        from tailwright.store import writing

        with writing(self.folder / "checkpoint", kind="checkpoint", overwrite=True) as folder:
            save(folder)
        self._last_checkpoint = time.monotonic()
        self._writing_seconds = self._last_checkpoint - started

    def checkpoint_is_due(self) -> bool:
        """Whether `checkpoint` would write one."""
        wait = max(self.checkpoint_seconds, self._writing_seconds / LARGEST_SHARE)
        due = not self.checkpoint_seconds or time.monotonic() - self._last_checkpoint >= wait
        return self.folder is not None and due

    def restore(self, *, mapped: bool = False) -> FolderReader | None:
        """The checkpoint to resume from, if there is one and this fit resumes; `mapped` as of a folder."""
        if not self.resume or self.reads is None or not (self.reads / "checkpoint").exists():
            return None
        from tailwright.store import open_folder

        return open_folder(self.reads / "checkpoint", kind="checkpoint", mapped=mapped)


def _line(event: str, facts: dict[str, Any]) -> str:
    return json.dumps({"time": round(time.time(), 3), "event": event, **facts}, allow_nan=False)


def peak_rss_mb() -> float:
    """The peak resident memory of this process so far, in MB."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        # psutil has no peak. VmHWM starts with this program; getrusage counts what a forking parent held.
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)
    except (OSError, IndexError):
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)
