"""`tailwright augmenters`: what augmentations there are."""

from __future__ import annotations

from tailwright.cli.options import Debug, Json, Quiet
from tailwright.cli.output import Output


def augmenters(as_json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """The augmentations there are: what each does, its door, what it needs, which paper it follows."""
    out = Output(as_json, quiet)

    from dataclasses import asdict

    from tailwright.augment import augmenters as registry

    cards = [registry.get(name).card for name in registry.names()]
    rows = [[c.name, c.door, ", ".join(c.needs) or "-", c.paper or "-", c.summary] for c in cards]
    if rows:
        out.table(["augmenter", "door", "needs", "paper", "what it does"], rows)
    else:
        out.text("no augmenter is registered")
    out.result({"augmenters": [asdict(card) for card in cards]})
