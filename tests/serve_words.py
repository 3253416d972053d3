"""What the words of a `tailwright serve` command mean, by the command line itself; no server is started."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import typer.main

from tailwright.cli import app


@cache
def _command() -> Any:
    return typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]


def served(words: Sequence[str]) -> dict[str, Any]:
    """The values of all options; a word that the command does not take is an error."""
    assert words[0] == "serve"
    return _command().make_context("serve", list(words[1:])).params


def options() -> set[str]:
    """Every option, such as `--port`."""
    return {name for parameter in _command().params for name in parameter.opts if name.startswith("--")}
