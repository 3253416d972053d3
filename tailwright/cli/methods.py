"""`tailwright models` and `tailwright augmenters`: what there is, and what can be set of one."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from tailwright.augmentation import augmenters as registered_augmenters
from tailwright.cli.options import command
from tailwright.cli.output import Output
from tailwright.models import models as registered_models
from tailwright.registry import Registry
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
    if name is not None:
        _show_settings(out, registered_models, name, prefix="")
        return
    cards = [registered_models.card(name) for name in registered_models.names()]
    rows = [[c.name, ", ".join(c.reads), ", ".join(c.doors), c.paper or "-", c.summary] for c in cards]
    out.table(["model", "reads", "doors", "paper", "what it does"], rows)
    shown = ("name", "reads", "doors", "paper", "summary")
    out.result(models=[{field: getattr(card, field) for field in shown} for card in cards])


@command
def augmenters(out: Output, name: Name = None) -> None:
    """The augmentations there are: what each does, its door, what it needs, which paper it follows.

    With a NAME, all that can be set of it by `--set METHOD.SETTING=VALUE`, with defaults.

    Example: `tailwright augmenters gda`
    """
    if name is not None:
        _show_settings(out, registered_augmenters, name, prefix=f"{name}.")
        return
    cards = [registered_augmenters.card(name) for name in registered_augmenters.names()]
    rows = [[c.name, c.door, ", ".join(c.needs) or "-", c.paper or "-", c.summary] for c in cards]
    out.table(["augmenter", "door", "needs", "paper", "what it does"], rows)
    out.result(augmenters=[asdict(card) for card in cards])


def _show_settings(out: Output, registry: Registry[Any], name: str, prefix: str) -> None:
    summary = registry.card(name).summary
    settings = [replace(one, name=f"{prefix}{one.name}") for one in settings_table(registry.settings(name))]
    out.text(f"{name}: {summary}\n")
    if settings:
        rows = [[one.name, _shown(one.default), one.takes, one.meaning] for one in settings]
        out.table(["setting", "default", "takes", "meaning"], rows)
    else:
        out.text("nothing can be set")
    out.result(name=name, summary=summary, settings=[asdict(one) for one in settings])


def _shown(value: Any) -> str:
    """A default as `--set` takes it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).replace("\n", "\\n")
