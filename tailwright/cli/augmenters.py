"""`tailwright augmenters`: what augmentations there are."""

from __future__ import annotations

from tailwright.cli.options import Debug, Json, Quiet
from tailwright.cli.output import Output


def augmenters(as_json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """The augmentations there are: what each does, the door it enters by, which paper it follows."""
    out = Output(as_json, quiet)

    from tailwright.augment import augmenters as registry

    cards = [registry.get(name).card for name in registry.names()]
    rows = [[card.name, card.door, card.paper or "-", card.summary] for card in cards]
    if rows:
        out.table(["augmenter", "door", "paper", "what it does"], rows)
    else:
        out.text("no augmenter is registered")
    listed = [{"name": c.name, "door": c.door, "paper": c.paper, "summary": c.summary} for c in cards]
    out.result({"augmenters": listed})
