"""`tailwright augmenters`: what augmentations there are, and what can be set of one."""

from __future__ import annotations

from typing import Annotated

import typer

from tailwright.cli.options import Debug, Json, Quiet
from tailwright.cli.output import Output
from tailwright.cli.settings_shown import show_settings


def augmenters(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="An augmentation, to see all of its settings.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """The augmentations there are: what each does, its door, what it needs, which paper it follows.

    With a NAME, all that can be set of it by `--set METHOD.SETTING=VALUE`, with defaults.

    Example: `tailwright augmenters gda`
    """
    out = Output(as_json, quiet)

    from dataclasses import asdict

    from tailwright.augmentation import augmenters as registry

    if name is not None:
        summary = registry.card(name).summary
        out.result(show_settings(out, name, summary, registry.settings(name), prefix=f"{name}."))
        return
    cards = [registry.card(name) for name in registry.names()]
    rows = [[c.name, c.door, ", ".join(c.needs) or "-", c.paper or "-", c.summary] for c in cards]
    if rows:
        out.table(["augmenter", "door", "needs", "paper", "what it does"], rows)
    else:
        out.text("no augmenter is registered")
    out.result({"augmenters": [asdict(card) for card in cards]})
