"""`tailwright models`: what classifiers there are."""

from __future__ import annotations

from tailwright.cli.options import Debug, Json, Quiet
from tailwright.cli.output import Output


def models(as_json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """The classifiers there are: what each does, what it reads, which paper it follows."""
    out = Output(as_json, quiet)

    from tailwright.models import models as registry

    cards = [registry.get(name).card for name in registry.names()]
    rows = [[card.name, ", ".join(card.reads), card.paper or "-", card.summary] for card in cards]
    out.table(["model", "reads", "paper", "what it does"], rows)
    listed = [{"name": c.name, "reads": list(c.reads), "paper": c.paper, "summary": c.summary} for c in cards]
    out.result({"models": listed})
