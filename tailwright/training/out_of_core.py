"""Training on more rows than memory holds: when a fit takes to files, and where these are.

A fit forecasts what its rows will take. Where that is more than is free, its large arrays lie in files
(`tailwright.kernels.room`), in the work folder of the run or else in the system's folder for temporary files.
Results are the same, bit for bit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailwright.kernels.room import in_files, is_in_files
from tailwright.progress import note
from tailwright.training import memory
from tailwright.training.memory import MemoryNeed
from tailwright.training.workplace import Workplace


@contextmanager
def room_for(need: MemoryNeed, work: Workplace) -> Iterator[bool]:
    """Within it, large arrays are in files if the machine has less free than is needed.

    Gives whether they are. An address space that is too small (`ulimit -v`) is so for files too.
    """
    available = memory.free_mb()
    if is_in_files() or need.megabytes <= available or need.megabytes > memory.address_space_mb():
        yield is_in_files()
        return
    folder = Path(tempfile.gettempdir()) if work.folder is None else work.folder
    work.log("out_of_core", needed_mb=round(need.megabytes, 1), free_mb=round(available, 1))
    note(
        f"out of core: rows need about {need.megabytes:,.0f} MB and {available:,.0f} MB are free, "
        f"so they lie in files of {folder}"
    )
    with in_files(folder):
        yield True
