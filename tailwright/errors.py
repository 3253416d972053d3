"""The errors a user can meet. Each is one line; the command line prints it and exits with `exit_code`."""

from __future__ import annotations

from pathlib import Path


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


class MissingExtraError(InputError):
    """An optional dependency is not installed; the line says how to install it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is not installed; install it with: pip install 'tailwright[{extra}]'")


def quoted(value: object, limit: int = 60) -> str:
    """`value` as it appears in an error line: its repr, cut to `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
