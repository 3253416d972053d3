"""A hook of MkDocs: the reference pages of commands, models and augmentations, from the code itself.

A line `{{ commands }}`, `{{ models }}` or `{{ augmenters }}` of a page becomes a list of all there are, so
the page is never out of date.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from tailwright.augmentation import augmenters
from tailwright.cli import GROUPS, app
from tailwright.models import models


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    for name, made in _MADE.items():
        mark = f"{{{{ {name} }}}}"
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return markdown


def commands() -> str:
    """Every command with its help."""
    registered = [("tailwright", command) for command in app.registered_commands]
    for name, group in GROUPS.items():
        registered += [(f"tailwright {name}", command) for command in group.registered_commands]
    return "\n".join(
        f"## {group} {command.name}\n\n{textwrap.dedent(4 * ' ' + (command.callback.__doc__ or ''))}"
        for group, command in registered
        if command.callback is not None
    )


def model_table() -> str:
    """A row for each model."""
    cards = map(models.card, models.names())
    rows = ([card.name, ", ".join(card.reads), ", ".join(card.doors), card.summary] for card in cards)
    return _table(["model", "reads", "doors", "what it does"], rows)


def augmenter_table() -> str:
    """A row for each augmentation."""
    cards = map(augmenters.card, augmenters.names())
    rows = ([card.name, card.door, ", ".join(card.needs), card.summary] for card in cards)
    return _table(["augmentation", "door", "needs", "what it does"], rows)


def _table(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


_MADE: dict[str, Callable[[], str]] = {
    "commands": commands,
    "models": model_table,
    "augmenters": augmenter_table,
}
