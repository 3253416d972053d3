"""The page of claims: what each paper says, what it measured, what we measured, and whether it holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tailwright.errors import InputError
from tailwright.store.whole_file import write_whole
from tailwright.study.compare.sheets import in_markdown
from tailwright.study.run.outcomes import outcomes_of
from tools.claims.judging import evaluate_claims
from tools.claims.ledger import read_ledger
from tools.claims.verdicts import (
    FAILS,
    HOLDS,
    LEVEL,
    MIXED,
    UNTESTABLE,
    UNTESTED,
    Effect,
    Judgement,
    together,
)

LEDGER = Path("studies/claims.toml")
PAGE = Path("docs/results/claims.md")
VERDICTS = (HOLDS, MIXED, LEVEL, FAILS, UNTESTED, UNTESTABLE)
_BEYOND = "On models that the paper does not speak of:"
_ABOUT = """\
What the papers claim, tested on our own cells. An effect is a difference in points of percent on all test
rows of a dataset, with its 95 % interval by a paired bootstrap over test rows and seeds
([statistics.md](../statistics.md)); verdicts are corrected after Holm inside a claim. The papers' figures are
of other and larger corpora and of larger models: what can be compared is the direction.

| verdict | meaning |
|---|---|
| holds | beyond noise wherever there are cells; for parity: no more than the margin behind |
| mixed | holds on some datasets, models and metrics and not on others; the list says where |
| = | inside the noise everywhere |
| does not hold | holds nowhere, and the opposite is so somewhere, beyond noise |
| not yet tested | a method is not built, or its cells were not run |
| cannot be tested here | why is said |
"""


@dataclass(frozen=True)
class Entry:
    """A claim on the page: its verdict, that on other models, and its section."""

    verdict: str
    apart: str
    section: tuple[str, ...]

    @property
    def has_evidence(self) -> bool:
        """Whether the section has effects to show."""
        return "Here:" in self.section or _BEYOND in self.section


def judge_studies(
    folders: Sequence[Path],
    ledger: Path = LEDGER,
    out: Path = PAGE,
    *,
    anew: bool = False,
    papers: Sequence[str] = (),
) -> list[Judgement]:
    """Judge every claim of a ledger by the outcomes in these study folders, and write the page.

    A claim of which these studies say nothing keeps what the page said of it, unless it is written `anew`.
    With `papers`, claims of other papers are not judged, so that they keep it too.
    """
    outcomes = [outcome for folder in folders for outcome in outcomes_of(folder)]
    claims = read_ledger(ledger)
    known = sorted({claim.paper for claim in claims})
    for paper in papers:
        if paper not in known:
            raise InputError(f"found no paper {paper!r}", expected=f"one of {', '.join(known)}", path=ledger)
    judged = [claim for claim in claims if not papers or claim.paper in papers]
    others = [claim for claim in claims if claim not in judged]
    found = [*evaluate_claims(judged, outcomes), *evaluate_claims(others, [])]
    judgements = sorted(found, key=lambda one: claims.index(one.claim))
    former = entries_in(out.read_text(encoding="utf-8")) if out.is_file() and not anew else {}
    write_claims(judgements, out, former)
    return judgements


def write_claims(
    judgements: Sequence[Judgement], path: Path, former: Mapping[str, Entry] | None = None
) -> None:
    """Write the page; the same judgements give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, claims_page(judgements, former).encode())


def entries_in(page: str) -> dict[str, Entry]:
    """The claims of a page that was written before, by id."""
    row = re.compile(r"^\| \[.*\]\(#([^)]+)\) \| .* \| (.*) \| (.*) \|$")
    overview = {found[1]: (found[2], found[3]) for line in page.splitlines() if (found := row.match(line))}
    entries = {}
    for part in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        section = f"### {re.split(r'^## ', part, flags=re.MULTILINE)[0]}".strip().splitlines()
        name = section[0].removeprefix("### ")
        if name in overview:
            entries[name] = Entry(*overview[name], tuple(section))
    return entries


def _entry(one: Judgement, former: Mapping[str, Entry]) -> Entry:
    """What these studies say of a claim; where they say nothing, what was said before."""
    before = former.get(one.claim.id)
    if before is not None and before.has_evidence and not (one.effects or one.beyond or one.claim.untestable):
        return before
    apart = together([effect.verdict for effect in one.beyond]) if one.beyond else ""
    return Entry(one.verdict, apart, tuple(_section(one)))


def claims_page(judgements: Sequence[Judgement], former: Mapping[str, Entry] | None = None) -> str:
    """The page as Markdown: an overview of all claims, then each with its effects."""
    entries = {one.claim.id: _entry(one, former or {}) for one in judgements}
    counts = ", ".join(
        f"{sum(entry.verdict == verdict for entry in entries.values())} {verdict}"
        for verdict in VERDICTS
        if any(entry.verdict == verdict for entry in entries.values())
    )
    lines = [
        "# The papers' claims",
        "",
        _ABOUT,
        f"{len(judgements)} claims: {counts}.",
        "",
        "## Overview",
        "",
    ]
    lines += ["| claim | paper | verdict | on models that the paper does not speak of |", "|---|---|---|---|"]
    for one in judgements:
        anchor, entry = f"[{in_markdown(one.claim.says)}](#{one.claim.id})", entries[one.claim.id]
        lines.append(f"| {anchor} | {in_markdown(one.claim.paper)} | {entry.verdict} | {entry.apart} |")
    named = {
        side.name: side.meaning
        for one in judgements
        for side in (*one.claim.before, one.claim.after)
        if side.name
    }
    if named:
        lines += ["", "What is behind a name:", ""]
        lines += [f"- {in_markdown(name)}: {in_markdown(meaning)}" for name, meaning in named.items()]
    for paper, members in groupby(judgements, key=lambda one: one.claim.paper):
        lines += ["", f"## {in_markdown(paper)}"]
        for one in members:
            lines += ["", *entries[one.claim.id].section]
    lines += [
        "",
        "## How to repeat it",
        "",
        "Run the studies, then judge the claims by all of their folders:",
        "",
        "    tailwright study studies/label-texts.toml --out label-texts",
        "    tailwright study studies/text-augmenters.toml --out text-augmenters",
        "    tailwright study studies/long-texts.toml --out long-texts",
        "    tailwright study studies/mixups.toml --out mixups",
        "    python -m tools.claims label-texts text-augmenters long-texts mixups",
        "",
        "A claim of which these studies say nothing keeps what the page says of it; `--anew` forgets that.",
        "",
    ]
    return "\n".join(lines)


def _section(one: Judgement) -> list[str]:
    claim = one.claim
    why = f": {in_markdown(one.why)}" if one.why else ""
    lines = [
        f"### {in_markdown(claim.id)}",
        "",
        in_markdown(claim.says),
        "",
        f"Verdict: **{one.verdict}**{why}.",
    ]
    if claim.published:
        lines += ["", "The paper:", "", *(f"- {in_markdown(figure.title)}" for figure in claim.published)]
    for title, effects in (
        ("Here:", one.effects),
        (_BEYOND, one.beyond),
    ):
        if effects:
            lines += ["", title, "", *_table(effects)]
    return lines


def _table(effects: Sequence[Effect]) -> list[str]:
    rows = [
        "| dataset | model | what | effect | verdict | test rows | seeds |",
        "|---|---|---|---|---|---:|---:|",
    ]
    for effect in effects:
        words = (effect.dataset, effect.system, effect.what, effect.shown, effect.verdict)
        cells = [*map(in_markdown, words), f"{effect.rows:,}", str(effect.seeds)]
        rows.append(f"| {' | '.join(cells)} |")
    return rows
