"""Options that commands share, and the decorator that gives a command those that all of them have."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailwright.cli.failures import StoppedError
from tailwright.cli.output import Output
from tailwright.cli.reading import COLUMN_OPTIONS, Reading
from tailwright.errors import InputError, quoted
from tailwright.training.threads import THREAD_VARIABLES

if TYPE_CHECKING:
    from tailwright.runs.tail import Tail

CorpusPath = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="A corpus: a folder of train/valid/test/labels files, a table, or - for standard input.",
    ),
]
TestData = Annotated[
    Path | None,
    typer.Option("--data", metavar="PATH", help="Test rows.", show_default="where the runs were trained"),
]
TailOption = Annotated[
    str,
    typer.Option(
        "--tail",
        metavar="X",
        help="How far rare labels are preferred: 0 (as trained) to 1, or auto (what the run recommends).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one line of JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
LARGEST_SEED = 2**63 - 1
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="The same seed gives the same result.")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, max=1024, help="How many threads to use.", show_default="all cores"),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="ray|ray://HOST:PORT",
        help="Work on a Ray cluster: one that is started on this machine, or one that is there.",
        show_default="this process",
    ),
]
OnWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        max=100_000,
        help="With --on: how many workers, of --threads threads each (default 1).",
        show_default="as many as the cluster has cores for",
    ),
]
FilterRows = Annotated[
    bool,
    typer.Option("--filter", help="Keep the best of the new rows: `filter` behind the other methods."),
]
ScorerRun = Annotated[
    Path | None,
    typer.Option(
        "--with",
        metavar="RUN",
        help="The run folder whose classifier scores the rows.",
        show_default="one is trained on the original rows",
    ),
]
MaskHeads = Annotated[
    list[str] | None,
    typer.Option(
        "--mask",
        metavar="[NAME=VALUE]",
        help="New rows teach nothing about head labels: `mask` behind the other methods.",
        show_default=False,
    ),
]
_OF_ALL = {
    "threads": (Threads, None),
    "as_json": (Json, False),
    "quiet": (Quiet, False),
    "debug": (Debug, False),
}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_MOST_SECONDS = 366 * 24 * 3600
_ASSIGNMENT = re.compile(r"[\w.]+=.*")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Options that may stand without a value: what a value looks like, and what stands for none.
_BARE = {"--mask": (_ASSIGNMENT, ""), "--abstain": (_NUMBER, "0")}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command with the options that all commands have; `function` gets an `Output` as its first argument.

    It gets `threads` too if it has a parameter of that name, and with a parameter `read` all options on
    columns. `main` looks for `--debug` itself.
    """
    signature = inspect.signature(function, eval_str=True)
    own = dict(list(signature.parameters.items())[1:])
    reads = own.pop("read", None) is not None

    @functools.wraps(function)
    def called(*arguments: Any, **options: Any) -> None:
        threads, as_json, quiet, _ = (options.pop(name, default) for name, (_, default) in _OF_ALL.items())
        set_threads(threads)
        if "threads" in own:
            options["threads"] = threads
        out = Output(as_json, quiet)
        if reads:
            given = {name: options.pop(name, default) for name, (_, default) in COLUMN_OPTIONS.items()}
            options["read"] = Reading(out, given)
        try:
            function(out, *arguments, **options)
        except KeyboardInterrupt:
            raise StoppedError("stopped") from None

    added = {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in ((COLUMN_OPTIONS if reads else {}) | _OF_ALL).items()
    }
    called.__signature__ = signature.replace(parameters=[*(own | added).values()])  # type: ignore[attr-defined]
    return called


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


def spelt_out(arguments: list[str]) -> list[str]:
    """The arguments with a value after each `--mask` and `--abstain` that has none, as options must have one.

    >>> spelt_out(["train", "--mask", "data/", "--mask", "tail_below=5", "--mask"])
    ['train', '--mask', '', 'data/', '--mask', 'tail_below=5', '--mask', '']
    >>> spelt_out(["predict", "run/", "--abstain", "a text", "--abstain", "0.2"])
    ['predict', 'run/', '--abstain', '0', 'a text', '--abstain', '0.2']
    >>> spelt_out(["predict", "run/", "--", "--mask"])
    ['predict', 'run/', '--', '--mask']
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)  # what follows are no options
    spelt = []
    for argument, following in zip(arguments[:end], [*arguments[1:end], ""], strict=True):
        spelt.append(argument)
        if argument in _BARE and not _BARE[argument][0].fullmatch(following):
            spelt.append(_BARE[argument][1])
    return spelt + arguments[end:]


def tail_of(text: str) -> Tail:
    """The value of `--tail` as the Python API takes it; what is neither a number nor `auto` is an InputError.

    >>> tail_of("0.25"), tail_of("auto")
    (0.25, 'auto')
    """
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--tail {quoted(text)}", expected="a number from 0 to 1, or auto") from None


def seconds_of(text: str) -> float:
    """The seconds of a time as people write it; anything else, and no time at all, is an InputError.

    >>> seconds_of("10m"), seconds_of("1.5h"), seconds_of("90")
    (600.0, 5400.0, 90.0)
    """
    match = _TIME.fullmatch(text.strip())
    seconds = 0.0 if match is None else float(match[1]) * _SECONDS[match[2]]
    if not 0 < seconds <= _MOST_SECONDS:
        expected = "such as 90s, 10m or 1.5h, and at most a year"
        raise InputError(f"found the time {quoted(text)}", expected=expected)
    return seconds
