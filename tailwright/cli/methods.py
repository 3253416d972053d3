"""`tailwright models` and `tailwright augmenters`: what there is, and what can be set of one."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from tailwright.cli.options import command
from tailwright.cli.output import Output
from tailwright.settings import settings_table

Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="One of them, to see all of its settings.")
]


@command
def models(out: Output, name: Name = None) -> None:
    """The classifiers there are: what each reads, its doors for augmentation, its paper, what it does.

    With a NAME, all that can be set of it by `train --set SETTING=VALUE`, with defaults. The last word of a
    setting's name is enough where no other setting ends in it: `epochs=3`.

    Example: `tailwright models attentionxml`
    """
    from tailwright.models import models as registry

    if name is not None:
        out.result(_show_settings(out, name, registry.card(name).summary, registry.settings(name)))
        return
    cards = [registry.card(name) for name in registry.names()]
    rows = [[c.name, ", ".join(c.reads), ", ".join(c.doors), c.paper or "-", c.summary] for c in cards]
    out.table(["model", "reads", "doors", "paper", "what it does"], rows)
    shown = ("name", "reads", "doors", "paper", "summary")
    out.result({"models": [{field: getattr(card, field) for field in shown} for card in cards]})


@command
def augmenters(out: Output, name: Name = None) -> None:
    """The augmentations there are: what each does, its door, what it needs, which paper it follows.

    With a NAME, all that can be set of it by `--set METHOD.SETTING=VALUE`, with defaults.

    Example: `tailwright augmenters gda`
    """
    from tailwright.augmentation import augmenters as registry

    if name is not None:
        summary = registry.card(name).summary
        out.result(_show_settings(out, name, summary, registry.settings(name), prefix=f"{name}."))
        return
    cards = [registry.card(name) for name in registry.names()]
    rows = [[c.name, c.door, ", ".join(c.needs) or "-", c.paper or "-", c.summary] for c in cards]
    out.table(["augmenter", "door", "needs", "paper", "what it does"], rows)
    out.result({"augmenters": [asdict(card) for card in cards]})


def _show_settings(out: Output, name: str, summary: str, kind: type, prefix: str = "") -> dict[str, Any]:
    """Print every setting of `kind`; the same as a dictionary, for JSON."""
    settings = [replace(one, name=f"{prefix}{one.name}") for one in settings_table(kind)]
    out.text(f"{name}: {summary}")
    out.text()
    if settings:
        rows = [[one.name, _shown(one.default), one.takes, one.meaning] for one in settings]
        out.table(["setting", "default", "takes", "meaning"], rows)
    else:
        out.text("nothing can be set")
    return {"name": name, "summary": summary, "settings": [asdict(one) for one in settings]}


def _shown(value: Any) -> str:
    """A default as `--set` takes it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).replace("\n", "\\n")
