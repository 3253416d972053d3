"""`tailwright models`: what classifiers there are, and what can be set of one."""

from __future__ import annotations

from typing import Annotated

import typer

from tailwright.cli.options import Debug, Json, Quiet
from tailwright.cli.output import Output
from tailwright.cli.settings_shown import show_settings


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A classifier, to see all of its settings.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """The classifiers there are: what each reads, its doors for augmentation, its paper, what it does.

    With a NAME, all that can be set of it by `train --set SETTING=VALUE`, with defaults. The last word of a
    setting's name is enough where no other setting ends in it: `epochs=3`.

    Example: `tailwright models attentionxml`
    """
    out = Output(as_json, quiet)

    from tailwright.models import models as registry

    if name is not None:
        out.result(show_settings(out, name, registry.card(name).summary, registry.settings(name)))
        return
    cards = [registry.card(name) for name in registry.names()]
    rows = [
        [card.name, ", ".join(card.reads), ", ".join(card.doors), card.paper or "-", card.summary]
        for card in cards
    ]
    out.table(["model", "reads", "doors", "paper", "what it does"], rows)
    listed = [
        {
            "name": card.name,
            "reads": list(card.reads),
            "doors": list(card.doors),
            "paper": card.paper,
            "summary": card.summary,
        }
        for card in cards
    ]
    out.result({"models": listed})
