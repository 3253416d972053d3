"""The ledger of claims: what papers say that augmentation does, as lines that can be tested on outcomes.

    [[claim]]
    id = "gandalf-soft"
    paper = "gandalf"
    says = "Soft annotations add to Gandalf."
    kind = "above"
    models = ["astec", "inceptionxml"]             # those that the paper claims it for; all if left out
    before = { method = "gandalf", soft = false }  # settings that are not named have their defaults
    after = { method = "gandalf" }
    metrics = ["P@1", "PSP@5"]
    published = [
        { table = "3", on = "LF-AmazonTitles-131K, InceptionXML", metric = "P@1", from = 37.59, to = 43.52 },
    ]

| kind | holds where |
|---|---|
| `above` | `after` is better than each `before` |
| `at least` | `after` is not worse than each `before` by more than `margin` points |
| `not above` | `after` is not better than each `before` by more than `margin` points |
| `gains more in` | the gain in the first of `metrics` is larger than that in the second |
| `gains more on` | the gain is larger on the first of `slices` than on the second |
| `gains more at` | the gain is larger at the first of `fractions` than at the second |
| `gains more with` | the gain is larger with the first of `models` than with the second |
| `up to` | somewhere `after` is better than a `before` by `percent` percent of it, or more |
| `faster` | the training of `after` takes less time than that of each `before` |
| `found best` | a search on validation rows finds `value` of `setting` the best of those tried |

A side may name its own `model`; without a method its settings are those of the model that matter. One with
many settings is written once, as `[sides.NAME]`, and then named like a method; the page says what is behind
the name. `{ ensemble = ["none", "tailmix"] }` is an ensemble of such sides. A claim that no study here can
test says why: `untestable`. `foreword` is Markdown for the head of the page; `[[kept]]` is in
`tools.claims.kept`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailwright.errors import quoted
from tailwright.study.compare.comparisons import ALL, SLICES
from tailwright.study.plan.cells import BASELINE
from tailwright.study.plan.toml_table import Table, read_table

ABOVE, AT_LEAST, NOT_ABOVE = "above", "at least", "not above"
MORE_IN, MORE_ON, MORE_AT = "gains more in", "gains more on", "gains more at"
MORE_WITH, UP_TO = "gains more with", "up to"
FASTER, FOUND_BEST = "faster", "found best"
KINDS = (ABOVE, AT_LEAST, NOT_ABOVE, MORE_IN, MORE_ON, MORE_AT, MORE_WITH, UP_TO, FASTER, FOUND_BEST)
_KEYS = (
    *("id", "paper", "says", "kind", "models", "before", "after", "metrics", "published", "untestable"),
    *("fractions", "slices", "margin", "percent", "setting", "value"),
)


@dataclass(frozen=True)
class Side:
    """What is compared: an augmentation with its settings, on the claim's models or on one of its own.

    An ensemble has no methods, but sides that answer together.
    """

    methods: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    name: str = ""
    ensemble: tuple[Side, ...] = ()

    @property
    def title(self) -> str:
        """Its name, or in words what it is."""
        return self.name or self.meaning

    @property
    def meaning(self) -> str:
        """In words: `gandalf (soft=False)`, or with its own model `astec + gandalf`."""
        if self.ensemble:
            return "ensemble of " + " and ".join(side.title for side in self.ensemble)
        named = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        added = " + ".join(part for part in (self.model, "+".join(self.methods)) if part) or BASELINE
        return added + (f" ({named})" if named else "")


@dataclass(frozen=True)
class Published:
    """A figure of the paper: where it stands, and what it was without and with."""

    table: str
    on: str
    metric: str
    before: float
    after: float

    @property
    def title(self) -> str:
        change = self.after - self.before
        return (
            f"{self.metric} {self.before:g} → {self.after:g} ({change:+.2f}), {self.on}, table {self.table}"
        )


@dataclass(frozen=True)
class Claim:
    """One line of the ledger; `kind` says how the other fields are read."""

    id: str
    paper: str
    says: str
    kind: str = ABOVE
    models: tuple[str, ...] = ()
    before: tuple[Side, ...] = (Side(),)
    after: Side = Side()
    metrics: tuple[str, ...] = ("P@1", "PSP@5")
    fractions: tuple[float, ...] = (1.0,)
    slices: tuple[str, ...] = (ALL,)
    margin: float = 1.0
    percent: float = 0.0
    setting: str = ""
    value: float = 0.0
    published: tuple[Published, ...] = ()
    untestable: str = ""

    @property
    def methods(self) -> tuple[str, ...]:
        """Every augmentation that the claim speaks of."""
        sides = (*self.before, self.after)
        all_sides = (*sides, *(member for side in sides for member in side.ensemble))
        return tuple(dict.fromkeys(method for side in all_sides for method in side.methods))


def read_ledger(path: Path) -> list[Claim]:
    """Every claim of a file; anything wrong in it is an InputError that names the claim."""
    top = read_table(path)
    top.refuse_other_keys(["claim", "sides", "foreword", "kept"])
    sides = top.values.get("sides", {})
    if not isinstance(sides, dict) or not all(isinstance(side, dict) for side in sides.values()):
        raise top.wrong(f"sides: found {quoted(sides)}", "[sides.NAME] for each")
    entries = top.values.get("claim", [])
    if not isinstance(entries, list) or not entries:
        raise top.wrong(f"claim: found {quoted(entries)}", "[[claim]] for each")
    claims = [
        _claim(Table(entry, path, f"claim {number}"), path, sides) for number, entry in enumerate(entries, 1)
    ]
    for place, claim in enumerate(claims):
        if claim.id in {other.id for other in claims[:place]}:
            raise top.wrong(f"found the claim {claim.id!r} twice", "one id for one claim")
    return claims


def read_foreword(path: Path) -> str:
    """What a ledger has to say before all claims; empty if nothing."""
    return read_table(path).text("foreword", "")


def _claim(table: Table, path: Path, sides: Mapping[str, Mapping[str, Any]]) -> Claim:
    if not isinstance(table.values, dict):
        raise table.wrong(f"found {quoted(table.values)}", "a table")
    table = Table(table.values, path, f"claim {table.text('id')}")
    table.refuse_other_keys(_KEYS)
    name, paper, says = (table.text(key) for key in ("id", "paper", "says"))
    published = _published(table)
    if "untestable" in table.values:
        return Claim(name, paper, says, published=published, untestable=table.text("untestable"))
    kind = table.text("kind")
    table.refuse_unknown("kind", kind, KINDS)
    claim = Claim(
        name,
        paper,
        says,
        kind=kind,
        models=tuple(table.names("models", [])) if "models" in table.values else (),
        before=tuple(
            _side(table, "before", value, sides) for value in _listed(table.values.get("before", BASELINE))
        ),
        after=_side(table, "after", table.values.get("after", BASELINE), sides),
        metrics=tuple(table.names("metrics", ["P@1", "PSP@5"])),
        fractions=_fractions(table),
        slices=tuple(table.names("slices", [ALL])),
        margin=table.number("margin", 1.0),
        percent=table.number("percent", 0.0),
        setting=table.text("setting", ""),
        value=table.number("value", 0.0),
        published=published,
    )
    for part in claim.slices:
        table.refuse_unknown("slice", part, (ALL, *SLICES))
    pairs = {MORE_IN: "metrics", MORE_ON: "slices", MORE_AT: "fractions", MORE_WITH: "models"}
    if kind in pairs and len(getattr(claim, pairs[kind])) != 2:
        raise table.wrong(
            f"{pairs[kind]}: found {len(getattr(claim, pairs[kind]))}", f"two, as {kind!r} needs"
        )
    if kind == UP_TO and claim.percent <= 0:
        raise table.wrong(f"percent: found {claim.percent:g}", "a number above 0")
    if kind == FOUND_BEST and not claim.setting:
        raise table.wrong("setting is missing", "the setting that is searched")
    return claim


def _side(table: Table, key: str, value: Any, sides: Mapping[str, Mapping[str, Any]]) -> Side:
    """`"none"`, the name of a side or of a method, or `{ method = ..., model = ..., SETTING = ... }`.

    Or `{ ensemble = [SIDE, ...] }`.
    """
    name = value if isinstance(value, str) and value in sides else ""
    if isinstance(value, str):
        value = sides.get(value, {"method": value})
    if not isinstance(value, dict):
        raise table.wrong(f"{key}: found {quoted(value)}", "a method, or { method = ..., SETTING = ... }")
    if "ensemble" in value:
        if set(value) != {"ensemble"} or len(_listed(value["ensemble"])) < 2:
            raise table.wrong(f"{key}: found {quoted(value)}", "{ ensemble = [SIDE, SIDE] }")
        return Side(name=name, ensemble=tuple(_side(table, key, one, sides) for one in value["ensemble"]))
    methods = _listed(value.get("method", BASELINE))
    if not all(isinstance(name, str) for name in [*methods, value.get("model", "")]):
        raise table.wrong(f"{key}: found {quoted(value)}", "names as method and model")
    settings = {name: found for name, found in value.items() if name not in {"method", "model"}}
    kept = tuple(name for name in methods if name != BASELINE)
    if settings and len(kept) != 1 and (kept or "model" not in value):
        raise table.wrong(f"{key}: found settings of {len(kept)} methods", "settings of one method")
    return Side(kept, settings, value.get("model", ""), name)


def _fractions(table: Table) -> tuple[float, ...]:
    shares = _listed(table.values.get("fractions", 1.0))
    if not shares or not all(isinstance(share, (int, float)) and 0 < share <= 1 for share in shares):
        raise table.wrong(f"fractions: found {quoted(shares)}", "numbers in (0, 1]")
    return tuple(float(share) for share in shares)


def _published(table: Table) -> tuple[Published, ...]:
    figures = []
    for number, entry in enumerate(_listed(table.values.get("published", [])), 1):
        if not isinstance(entry, dict):
            raise table.wrong(f"published: found {quoted(entry)}", "{ table, on, metric, from, to }")
        one = Table(entry, table.path, f"{table.place}, published {number}")
        one.refuse_other_keys(("table", "on", "metric", "from", "to"))
        for key in ("from", "to"):
            if key not in entry:
                raise one.wrong(f"{key} is missing", "a number")
        words = (one.text("table"), one.text("on"), one.text("metric"))
        figures.append(Published(*words, one.number("from", 0.0), one.number("to", 0.0)))
    return tuple(figures)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]
