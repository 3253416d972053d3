"""What the page says of studies that are not at hand: its effects, judged by the rules of today.

A page has of an effect what it came to, its verdict and its seeds, not the cells behind it. Where it is known
that these cannot be compared, the ledger says so, until a study judges the claim anew:

    [[kept]]
    claims = ["gda-above-rules"]
    dataset = "cve-libraries"
    against = "eda"                           # of the effects, those against this side; all if left out
    why = "rows added 489 against 2,805"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tailwright.errors import quoted
from tailwright.study.plan.toml_table import Table, read_table
from tools.claims.ledger import Claim
from tools.claims.verdicts import ALONE, UNFAIR, Effect, Judgement, over_effects

HERE, BEYOND = "Here:", "On models that the paper does not speak of:"
UNKNOWN = "Not known whether training had stopped learning: "


@dataclass(frozen=True)
class Refusal:
    """Why kept effects of some claims on a dataset are of cells that cannot be compared."""

    claims: tuple[str, ...]
    dataset: str
    against: str
    why: str

    def speaks_of(self, claim: Claim, effect: Effect) -> bool:
        ends = not self.against or effect.what.endswith(f"against {self.against}")
        return claim.id in self.claims and effect.dataset == self.dataset and ends


@dataclass(frozen=True)
class Entry:
    """A claim on a page that was written before: its effects, on models that the paper speaks of or not."""

    effects: tuple[Effect, ...]
    beyond: tuple[Effect, ...]


def read_refusals(path: Path, claims: Sequence[Claim]) -> list[Refusal]:
    """The [[kept]] of a ledger; anything wrong in it is an InputError."""
    entries = read_table(path).values.get("kept", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Table({}, path).wrong(f"kept: found {quoted(entries)}", "[[kept]] for each")
    refusals = []
    for number, entry in enumerate(entries, 1):
        table = Table(entry, path, f"kept {number}")
        table.refuse_other_keys(("claims", "dataset", "against", "why"))
        named = tuple(table.names("claims", []))
        for name in named:
            table.refuse_unknown("claim", name, [claim.id for claim in claims])
        refusals.append(Refusal(named, table.text("dataset"), table.text("against", ""), table.text("why")))
    return refusals


def entries_in(page: str) -> dict[str, Entry]:
    """The claims of a page that was written before, by id."""
    entries = {}
    for part in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        section = re.split(r"^## ", part, flags=re.MULTILINE)[0]
        here, _, beyond = section.partition(BEYOND)
        entries[section.splitlines()[0]] = Entry(*(tuple(_effects(text)) for text in (here, beyond)))
    return entries


def rejudged(one: Judgement, entry: Entry, refusals: Sequence[Refusal]) -> Judgement:
    """A claim with what was kept on datasets and systems of which no study at hand speaks, as of today."""
    judged = {(effect.dataset, effect.system) for effect in (*one.effects, *one.beyond)}

    def with_kept(found: Sequence[Effect], kept: Sequence[Effect]) -> tuple[Effect, ...]:
        left = [effect for effect in kept if (effect.dataset, effect.system) not in judged]
        return tuple(dict.fromkeys([*found, *(_today(one.claim, effect, refusals) for effect in left)]))

    effects, beyond = with_kept(one.effects, entry.effects), with_kept(one.beyond, entry.beyond)
    verdict, why = (over_effects(one.claim, effects), "") if effects else (one.verdict, one.why)
    return replace(one, verdict=verdict, why=why, effects=effects, beyond=beyond)


def _today(claim: Claim, effect: Effect, refusals: Sequence[Refusal]) -> Effect:
    why = next((one.why for one in refusals if one.speaks_of(claim, effect)), "")
    if why and effect.verdict != UNFAIR:
        # One line for all metrics, as for cells at hand.
        what = effect.what.partition(", ")[2]
        return replace(effect, what=what, shown=why, verdict=UNFAIR, unknown=())
    return replace(effect, verdict=ALONE) if effect.seeds == 1 and effect.verdict != UNFAIR else effect


def _effects(text: str) -> Iterator[Effect]:
    """The effects in the tables of a part of a section."""
    unknown = tuple(
        _plain(line.removeprefix(UNKNOWN).removesuffix("."))
        for line in text.splitlines()
        if line.startswith(UNKNOWN)
    )
    for line in text.splitlines():
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        if line.startswith("| ") and cells[0] != "dataset":
            dataset, system, what, shown, verdict, rows, seeds = map(_plain, cells)
            counts = (int(rows.replace(",", "")), int(seeds))
            yield Effect(dataset, system, what, shown, verdict, *counts, unknown)


def _plain(text: str) -> str:
    """A text of the page without what `in_markdown` adds."""
    return re.sub(r"\\(.)", r"\1", text.replace("&amp;", "&"))
