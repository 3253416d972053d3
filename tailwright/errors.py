"""The errors a user can meet. Each is one line; the command line prints it and exits with `exit_code`."""

from __future__ import annotations

import errno
from importlib.util import find_spec
from pathlib import Path

# What is imported from an optional dependency, and the extra that installs it.
EXTRA_OF = {
    "torch": "deep",
    "transformers": "deep",
    "tokenizers": "deep",
    "huggingface_hub": "hub",
    "tensorboardX": "tensorboard",
    "mlflow": "mlflow",
    "ray": "ray",
    "httptools": "serve",
    "prometheus_client": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
    "uvloop": "serve",
}

# What torch, the dynamic linker and C++ say, none of them by a MemoryError.
_SAID_OF_MEMORY = (
    "can't allocate memory",
    "cannot allocate memory",
    "out of memory",
    "not enough memory",
    "failed to map segment",
    "bad_alloc",
    "unable to allocate",
)


class TailwrightError(Exception):
    """A failure of ours, described in one line."""

    exit_code = 1


class InputError(TailwrightError):
    """The user's input is wrong: where, what was found, what was expected.

    >>> str(InputError("found 1.7", expected="a number in (0, 1]", path="train.jsonl", line=3))
    'train.jsonl:3: found 1.7, expected a number in (0, 1]'
    """

    exit_code = 2

    def __init__(
        self,
        found: str,
        *,
        expected: str | None = None,
        path: str | Path | None = None,
        line: int | None = None,
    ) -> None:
        self.found, self.expected, self.path, self.line = found, expected, path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        what = found if expected is None else f"{found}, expected {expected}"
        super().__init__((where + what).replace("\n", "\\n"))


class NoNumberError(TailwrightError, ValueError):
    """Scores are no numbers, as those of a training that diverged."""

    def __init__(self, found: str) -> None:
        super().__init__(f"{found}; a lower learning rate may help")


class MissingExtraError(InputError):
    """An optional dependency is not installed; the line says how to install it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is not installed; install it with: pip install 'tailwright[{extra}]'")


def require_extra(extra: str, what: str) -> None:
    """A MissingExtraError unless all of the extra is installed, which `what` needs."""
    for library, of in EXTRA_OF.items():
        if of == extra and find_spec(library) is None:
            raise MissingExtraError(f"{library}, which {what} needs,", extra)


def missing_extra(error: Exception) -> MissingExtraError | None:
    """The line for an import that failed because an extra is not installed; None for any other error."""
    library = (getattr(error, "name", None) or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or library not in EXTRA_OF:
        return None
    return MissingExtraError(library, EXTRA_OF[library])


def quoted(value: object, limit: int = 60) -> str:
    """`value` as it appears in an error line: its repr, cut to `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def is_memory(error: BaseException | None) -> bool:
    """Whether the want of memory is behind an error; some libraries only mention it."""
    looked_at: set[int] = set()  # errors that were handled in turn may be behind each other
    while error is not None and id(error) not in looked_at:
        looked_at.add(id(error))
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if isinstance(error, (RuntimeError, ImportError, OSError)) and any(
            words in str(error).lower() for words in _SAID_OF_MEMORY
        ):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False
