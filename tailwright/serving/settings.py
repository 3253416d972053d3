"""What can be set of a server; it goes to worker processes as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tailwright.errors import InputError, quoted
from tailwright.runs.hub import HUB


class RunAddress(BaseModel):
    """A run and the name that requests call it by."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    path: str


class Limits(BaseModel):
    """What a client may ask for, and how long it may take to ask."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    body: int = Field(default=1 << 20, ge=1)  # bytes
    texts: int = Field(default=256, ge=1)  # of a request
    characters: int = Field(default=20_000, ge=1)  # of a text
    labels: int = Field(default=200_000, ge=1)  # of all texts of an answer together
    batch: int = Field(default=256, ge=1)  # texts that the model reads at a time
    queue: int = Field(default=1024, ge=1)  # texts that wait for each run
    explanations: int = Field(default=16, ge=1)  # texts that wait to be explained
    connections: int = Field(default=1024, ge=1)
    header_seconds: float = Field(default=10.0, gt=0)
    body_seconds: float = Field(default=10.0, gt=0)
    idle_seconds: float = Field(default=75.0, gt=0)  # of a connection between two requests
    stop_seconds: float = Field(default=30.0, gt=0)  # that requests may go on after a signal to stop


class ServerSettings(BaseModel):
    """Everything that a server process is told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: tuple[RunAddress, ...] = Field(min_length=1)
    limits: Limits = Limits()
    keys: tuple[str, ...] = ()
    open_metrics: bool = False
    cors: tuple[str, ...] = ()
    reload_every: float = Field(default=5.0, ge=0)  # seconds; 0: only when it is told to
    log_requests: bool = True
    log_texts: bool = False


def run_addresses(arguments: Iterable[str]) -> tuple[RunAddress, ...]:
    """`NAME=RUN` or `RUN`, which is called by its folder's name; two of one name are an InputError.

    >>> [run.name for run in run_addresses(["shop=runs/7", "runs/books", "hub:user/tags@v2"])]
    ['shop', 'books', 'tags']
    """
    found: dict[str, RunAddress] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not equals or Path(argument).is_dir():
            name, path = _own_name(argument), argument
        if not name or "/" in name or not name.isprintable():
            raise InputError(f"found the name {quoted(name)} of a run", expected="NAME=RUN, without a slash")
        if name in found:
            raise InputError(
                f"two runs are called {quoted(name)}: {found[name].path} and {path}",
                expected="a name each, such as NAME=RUN",
            )
        found[name] = RunAddress(name=name, path=path)
    return tuple(found.values())


def _own_name(path: str) -> str:
    if path.startswith(HUB):
        return path.partition("@")[0].rpartition("/")[2]
    return Path(path).resolve().name


def read_keys(path: Path) -> tuple[str, ...]:
    """The keys of a file, one a line; blank lines and those that begin with # do not count."""
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", expected="a key on each line", path=path) from error
    return checked_keys([line for line in lines if line and not line.startswith("#")], str(path))


def checked_keys(keys: Iterable[str], where: str) -> tuple[str, ...]:
    """The keys; none at all, or one that no header can carry, is an InputError."""
    found = tuple(dict.fromkeys(keys))
    if not found:
        raise InputError(f"{where} has no key", expected="a key on each line")
    for number, key in enumerate(found, 1):
        if not key.isascii() or not key.isprintable() or " " in key:
            raise InputError(f"key {number} of {where}", expected="printable ASCII without spaces")
    return found
