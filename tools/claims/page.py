"""The page of claims: what each paper says, what it measured, what we measured, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

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


def judge_studies(folders: Sequence[Path], ledger: Path = LEDGER, out: Path = PAGE) -> list[Judgement]:
    """Judge every claim of a ledger by the outcomes in these study folders, and write the page."""
    outcomes = [outcome for folder in folders for outcome in outcomes_of(folder)]
    judgements = evaluate_claims(read_ledger(ledger), outcomes)
    write_claims(judgements, out)
    return judgements


def write_claims(judgements: Sequence[Judgement], path: Path) -> None:
    """Write the page; the same judgements give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, claims_page(judgements).encode())


def claims_page(judgements: Sequence[Judgement]) -> str:
    """The page as Markdown: an overview of all claims, then each with its effects."""
    counts = ", ".join(
        f"{sum(one.verdict == verdict for one in judgements)} {verdict}"
        for verdict in VERDICTS
        if any(one.verdict == verdict for one in judgements)
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
        apart = together([effect.verdict for effect in one.beyond]) if one.beyond else ""
        anchor = f"[{in_markdown(one.claim.says)}](#{one.claim.id})"
        lines.append(f"| {anchor} | {in_markdown(one.claim.paper)} | {one.verdict} | {apart} |")
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
            lines += ["", *_section(one)]
    lines += [
        "",
        "## How to repeat it",
        "",
        "Run the studies, then judge the claims by all of their folders:",
        "",
        "    tailwright study studies/label-texts.toml --out label-texts",
        "    tailwright study studies/text-augmenters.toml --out text-augmenters",
        "    tailwright study studies/long-texts.toml --out long-texts",
        "    python -m tools.claims label-texts text-augmenters long-texts",
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
        ("On models that the paper does not speak of:", one.beyond),
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
