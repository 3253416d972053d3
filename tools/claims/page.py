"""The page of claims: what each paper says, what it measured, what we measured, and whether it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from tailwright.errors import InputError
from tailwright.store.whole_file import write_whole
from tailwright.study.compare.sheets import in_markdown
from tailwright.study.run.outcomes import outcomes_of
from tools.claims.judging import evaluate_claims
from tools.claims.kept import BEYOND, HERE, UNKNOWN, Entry, Refusal, entries_in, read_refusals, rejudged
from tools.claims.ledger import read_foreword, read_ledger
from tools.claims.verdicts import (
    ALONE,
    FAILS,
    HOLDS,
    IN_PART,
    LEVEL,
    MIXED,
    UNFAIR,
    UNTESTABLE,
    UNTESTED,
    Effect,
    Judgement,
    together,
)

LEDGER = Path("studies/claims.toml")
PAGE = Path("docs/results/claims.md")
VERDICTS = (HOLDS, IN_PART, MIXED, LEVEL, FAILS, UNFAIR, ALONE, UNTESTED, UNTESTABLE)
_ABOUT = """\
What the papers claim, tested on our own cells. An effect is a difference in points of percent on all test
rows of a dataset, with its 95 % interval by a paired bootstrap over test rows and seeds
([statistics.md](../statistics.md)); verdicts are corrected after Holm inside a claim. The papers' figures are
of other and larger corpora and of larger models: what can be compared is the direction.

Effects that are "not comparable" or of "one seed" decide nothing. Two augmentations are compared where the
rows that they add differ by a tenth at most, two models where they read as many tokens, learn for as many
epochs, start from the same encoder, and none was still learning. Of cells from before studies wrote that
down it is not known, which is said beneath the table.

| verdict | meaning |
|---|---|
| holds | beyond noise wherever there are cells; for parity: no more than the margin behind |
| holds in part | holds on some datasets, models and metrics, and is inside the noise on the others |
| mixed | holds on some, and the opposite is so on others, beyond noise; the list says where |
| = | inside the noise everywhere |
| does not hold | holds nowhere, and the opposite is so somewhere, beyond noise |
| not comparable | the sides differ in more than what is compared; the list says in what |
| one seed | every effect is of one training on each side: of two trained models, not of two methods |
| not yet tested | a method is not built, or its cells were not run |
| cannot be tested here | why is said |
"""


def judge_studies(
    folders: Sequence[Path],
    ledger: Path = LEDGER,
    out: Path = PAGE,
    *,
    anew: bool = False,
    papers: Sequence[str] = (),
    ids: Sequence[str] = (),
) -> list[Judgement]:
    """Judge every claim of a ledger by the outcomes in these study folders, and write the page.

    A claim keeps the effects that the page has of it on datasets and systems of which these studies say
    nothing, judged by the rules of today, unless it is written `anew`.
    With `papers` or `ids`, claims of other papers or ids are not judged, so that they keep it too.
    """
    outcomes = [outcome for folder in folders for outcome in outcomes_of(folder)]
    claims = read_ledger(ledger)
    _refuse_unknown("paper", papers, sorted({claim.paper for claim in claims}), ledger)
    _refuse_unknown("claim", ids, [claim.id for claim in claims], ledger)
    judged = [
        claim for claim in claims if (not papers or claim.paper in papers) and (not ids or claim.id in ids)
    ]
    others = [claim for claim in claims if claim not in judged]
    found = [*evaluate_claims(judged, outcomes), *evaluate_claims(others, [])]
    judgements = sorted(found, key=lambda one: claims.index(one.claim))
    former = entries_in(out.read_text(encoding="utf-8")) if out.is_file() and not anew else {}
    refusals = read_refusals(ledger, claims)
    judgements = [standing(one, former, refusals) for one in judgements]
    write_claims(judgements, out, read_foreword(ledger))
    return judgements


def _refuse_unknown(kind: str, names: Sequence[str], known: Sequence[str], ledger: Path) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"found no {kind} {name!r}", expected=f"one of {', '.join(known)}", path=ledger)


def write_claims(judgements: Sequence[Judgement], path: Path, foreword: str = "") -> None:
    """Write the page; the same judgements give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, claims_page(judgements, foreword).encode())


def standing(one: Judgement, former: Mapping[str, Entry], refusals: Sequence[Refusal]) -> Judgement:
    """What these studies say of a claim, and what was said before of that of which they say nothing."""
    before = former.get(one.claim.id)
    if before is None or one.claim.untestable:
        return one
    return rejudged(one, before, refusals)


def claims_page(judgements: Sequence[Judgement], foreword: str = "") -> str:
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
        *(["", foreword.strip()] if foreword else []),
        "",
        "## Overview",
        "",
    ]
    lines += ["| claim | paper | verdict | on models that the paper does not speak of |", "|---|---|---|---|"]
    for one in judgements:
        anchor = f"[{in_markdown(one.claim.says)}](#{one.claim.id})"
        apart = together([effect.verdict for effect in one.beyond]) if one.beyond else ""
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
        "    tailwright study studies/gda.toml --out gda",
        "    tailwright study studies/mixups.toml --out mixups",
        "    python -m tools.claims label-texts text-augmenters long-texts gda mixups",
        "",
        "A claim of which these studies say nothing keeps its effects on this page, judged by the rules",
        "above; `--anew` forgets them.",
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
    for title, effects in ((HERE, one.effects), (BEYOND, one.beyond)):
        if effects:
            lines += ["", title, "", *_table(effects)]
            unknown = dict.fromkeys(system for effect in effects for system in effect.unknown)
            lines += ["", f"{UNKNOWN}{in_markdown(', '.join(unknown))}."] if unknown else []
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
