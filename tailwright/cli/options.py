"""Options that every command shares, and what they do to a process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tailwright.training.threads import THREAD_VARIABLES

CorpusPath = Annotated[
    Path,
    typer.Argument(metavar="PATH", help="A corpus: a folder of train/valid/test/labels files, or one file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one line of JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="How many threads to use.", show_default="all cores")
]


def set_threads(threads: int | None) -> None:
    """Limit every library to `threads`; must come before the heavy imports, which is why those are lazy."""
    if threads is None:
        return
    if "numba" in sys.modules:
        import numba

        numba.set_num_threads(min(threads, numba.get_num_threads()))
        return
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
