"""`tailwright models`: what classifiers there are."""

from __future__ import annotations

from tailwright.cli.options import Debug, Json, Quiet
from tailwright.cli.output import Output


def models(as_json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """The classifiers there are: what each reads, its doors for augmentation, its paper, what it does."""
    out = Output(as_json, quiet)

    from tailwright.models import models as registry

    cards = [registry.get(name).card for name in registry.names()]
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
