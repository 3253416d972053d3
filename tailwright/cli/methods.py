"""`tailwright models` and `tailwright augmenters`: what there is, and what can be set of one."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from tailwright.augmentation import WHAT_ENTERS
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

    A door is where an augmentation enters: rows (new training rows), batch (batches changed while training)
    or hidden (activations mixed inside the model).

    With a NAME, all that can be set of it by `train --set SETTING=VALUE`, with defaults. The last word of a
    setting's name is enough where no other setting ends in it: `epochs=3`.

    Example: `tailwright models attentionxml`
    """
    if name is not None:
        _show_settings(out, registered_models, name, prefix="")
        out.next("augmenters")
        return
    cards = [registered_models.card(name) for name in registered_models.names()]
    rows = [[c.name, ", ".join(c.reads), ", ".join(c.doors), c.paper or "-", c.summary] for c in cards]
    out.table(["model", "reads", "doors", "paper", "what it does"], rows)
    shown = ("name", "reads", "doors", "paper", "summary")
    _explain_doors(out)
    out.next("models", "linear")
    out.result(models=[{field: getattr(card, field) for field in shown} for card in cards])


@command
def augmenters(out: Output, name: Name = None) -> None:
    """The augmentations there are: what each does, its door, what it needs, which paper it follows.

    A door is where an augmentation enters: rows (new training rows), batch (batches changed while training)
    or hidden (activations mixed inside the model). `train --augment NAME` takes all of them, `augment
    --augment NAME` those of the rows door.

    With a NAME, all that can be set of it by `--set METHOD.SETTING=VALUE`, with defaults.

    Example: `tailwright augmenters gda`
    """
    if name is not None:
        _show_settings(out, registered_augmenters, name, prefix=f"{name}.")
        out.next("augment" if registered_augmenters.card(name).door == "rows" else "train", "--help")
        return
    cards = [registered_augmenters.card(name) for name in registered_augmenters.names()]
    rows = [[c.name, c.door, ", ".join(c.needs) or "-", c.paper or "-", c.summary] for c in cards]
    out.table(["augmenter", "door", "needs", "paper", "what it does"], rows)
    _explain_doors(out)
    out.next("augmenters", "eda")
    out.result(augmenters=[asdict(card) for card in cards])


def _explain_doors(out: Output) -> None:
    """What the words in the column of doors mean."""
    meanings = "; ".join(f"{door}: {what}" for door, what in WHAT_ENTERS.items())
    out.text(f"\nA door is where an augmentation enters. {meanings}.")


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
