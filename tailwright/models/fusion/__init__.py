"""Fusion: several models trained on the same rows, and a learnt combination of what they say (`linear+twin`).

A share of the training rows is held out from the parts. For each of these rows every part names its best
labels, and a small network (`combination`) learns from the rows' own labels how far to believe which part:
by how sure it is, whether the others name the label too, how frequent the label is, and whether its own text
stands in the row's. Where rows are few, that is done in two folds, so that the network has more to learn from
and knows parts that differ, and then the parts learn once more, from all rows. If the corpus has validation
rows, those are used and nothing is held out.

Rows are held out at random. The last fold may hold out the last rows of the file instead (`last_fold`): in a
file in the order of time, rows that are to come have more new labels and fewer near copies than others.

Where rows are few, a part may learn from every label's own text too, annotated with the label (Gandalf
without soft annotations): `linear` does, which does not read these texts otherwise.

docs/results/short-text.md has what other combinations gave.
"""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from functools import cache
from typing import Any, Literal

from tailwright.errors import InputError
from tailwright.models import ModelCard, models
from tailwright.settings import Settings, setting, settings_from

# Defaults of parts inside a fusion that differ from those of the models alone: parts make up for each other's
# weaknesses, so much cheaper ones do.
INSIDE: dict[str, dict[str, Any]] = {
    "linear": {"trees": 1, "few_trees": 3, "label_rows_below": 10_000},
    "twin": {"width": 128},
}


@dataclass(frozen=True)
class FusionSettings(Settings):
    """What can be set of every fusion; settings of its parts nest under the parts' names."""

    held_out: float = setting(0.15, "share of the rows that the combination learns from", above=0, below=1)
    most_held_out: int = setting(2000, "rows that are held out at most", least=1)
    few_rows: int = setting(
        20_000,
        "with fewer training rows the parts learn once more in the end, from all rows",
        least=0,
    )
    folds: int = setting(
        2,
        "with so few rows, how often the parts learn without other rows, which are held out",
        least=1,
        most=10,
    )
    last_fold: Literal["random", "last"] = setting(
        "random",
        "with so few rows, what the last fold holds out: rows at random, or the last rows, for a file in the "
        "order of time whose later rows bring new labels",
    )
    fewest: int = setting(50, "with fewer rows to learn from, all parts count alike", least=1)
    candidates: int = setting(25, "best labels that each part names for a text", least=1, most=10_000)
    hidden: int = setting(32, "hidden units of the combination", least=1, most=65_536)
    tail: float = setting(
        0.25,
        "a label's loss is multiplied by its inverse propensity to this power; 0: all alike",
        least=0,
        most=1,
    )


def parts_of(name: str) -> list[str]:
    """The models that the fusion `name` is made of."""
    names = name.split("+")
    if len(set(names)) < len(names):
        raise InputError(f"{name} names a model twice", expected="different models, as in linear+twin")
    return names


def card_of(name: str) -> ModelCard:
    """The card of the fusion `name`, such as "linear+twin"."""
    names = parts_of(name)
    cards = [models.card(part) for part in names]

    def union(what: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for card in cards for value in getattr(card, what)))

    return ModelCard(
        name=name,
        summary=f"{' and '.join(names)}, weighed by a network that learns from held-out rows",
        reads=union("reads"),
        doors=union("doors"),
        mix_points=union("mix_points"),
        adds_labels=any(card.adds_labels for card in cards),
        continues="all rows" if all(card.continues for card in cards) else "",
    )


def part_settings(name: str) -> type[Settings]:
    """The settings of a model as a part: its own, and what is different where rows are few."""
    own, card = models.settings(name), models.card(name)
    if "targets" not in card.reads:
        return own
    label_rows = setting(
        0,
        "with fewer training rows, the part learns from every label's text too, as a row with the label",
        least=0,
    )
    fields = [("label_rows_below", int, label_rows)]
    if hasattr(own, "trees"):
        few = setting(
            1,
            "trees where rows are few (`few_rows`) and short, unless `trees` is set",
            least=1,
            most=1000,
        )
        fields.append(("few_trees", int, few))
    return make_dataclass(
        f"{own.__name__}OfPart",
        fields,
        bases=(own,),
        frozen=True,
        namespace={"__module__": __name__},
    )


@cache
def settings_of(name: str) -> type[FusionSettings]:
    """The settings of the fusion `name`: those of every fusion, and those of its parts by their names."""
    fields = []
    for part in parts_of(name):
        kind, field = part_settings(part), part.replace("-", "_")
        default = settings_from(kind, INSIDE.get(field, {}))
        fields.append((field, kind, setting(default, f"settings of the part {field}")))
    return make_dataclass(
        "Settings", fields, bases=(FusionSettings,), frozen=True, namespace={"__module__": __name__}
    )
