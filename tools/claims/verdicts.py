"""What becomes of a claim: effects on each dataset and system, and one verdict over all of them.

Effects of one claim are corrected together after Holm. A claim holds if it holds wherever it can be tested,
"holds in part" if the others are inside the noise, is "mixed" if it holds here and the opposite there, and
does not hold if the opposite is so somewhere and it nowhere. Systems that the paper does not speak of are
judged apart. Unfair comparisons, and trainings of one seed, decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailwright.evaluation.bootstrap import Difference
from tailwright.study.plan.cells import Cell
from tools.claims.ledger import AT_LEAST, NOT_ABOVE, UP_TO, Claim

HOLDS, FAILS, LEVEL, MIXED, IN_PART = "holds", "does not hold", "=", "mixed", "holds in part"
UNFAIR, ALONE = "not comparable", "one seed"  # of an effect; of a claim that has no others
UNTESTED, UNTESTABLE = "not yet tested", "cannot be tested here"


@dataclass(frozen=True)
class Effect:
    """What a claim comes to on one dataset and system; `what` says what is set against what.

    Of an unfair comparison, `shown` is the reason. `unknown` are the systems of a claim about models of which
    nobody knows whether they had stopped learning.
    """

    dataset: str
    system: str
    what: str
    shown: str
    verdict: str
    rows: int
    seeds: int
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A claim and what became of it.

    `effects` are those on models that the paper speaks of, and `verdict` is theirs; `beyond` those on others.
    """

    claim: Claim
    verdict: str
    why: str = ""
    effects: tuple[Effect, ...] = ()
    beyond: tuple[Effect, ...] = ()


def together(verdicts: Sequence[str]) -> str:
    """The verdict of a claim out of those of its effects, of which there is one at least.

    >>> together(["holds", "="]), together(["holds", "does not hold"]), together(["=", "does not hold"])
    ('holds in part', 'mixed', 'does not hold')
    >>> together(["=", "one seed"]), together(["not comparable", "one seed"]), together(["one seed"])
    ('=', 'not comparable', 'one seed')
    """
    decided = _decided(verdicts)
    if not decided:
        return UNFAIR if UNFAIR in verdicts else ALONE
    if HOLDS in decided:
        return MIXED if FAILS in decided else IN_PART if LEVEL in decided else HOLDS
    return FAILS if FAILS in decided else LEVEL


def over_effects(claim: Claim, effects: Sequence[Effect]) -> str:
    """The verdict of a claim; "up to" is said of the largest gain, so one place where it holds is enough."""
    verdicts = [effect.verdict for effect in effects]
    decided = _decided(verdicts)
    if claim.kind != UP_TO or not decided:
        return together(verdicts)
    return HOLDS if HOLDS in decided else FAILS if decided == {FAILS} else LEVEL


def effect_of(claim: Claim, cell: Cell, what: str, found: Difference) -> Effect:
    """A difference as an effect: how it is shown, and what it says of the claim; one seed says nothing."""
    shown = f"{found.mean:+.2f} ({found.low:+.2f} to {found.high:+.2f})"
    if claim.kind == UP_TO:  # the difference is what the relative gain has beyond `percent`
        mean, low, high = (claim.percent + points for points in (found.mean, found.low, found.high))
        shown = f"{mean:+.1f} % ({low:+.1f} to {high:+.1f})"
    verdict = ALONE if found.seeds == 1 else verdict_of(claim, found)
    return Effect(cell.dataset, cell.system, what, shown, verdict, found.rows, found.seeds)


def verdict_of(claim: Claim, found: Difference) -> str:
    """Parity has to be shown too: an interval that reaches beyond the margin shows nothing."""
    if claim.kind == AT_LEAST and found.low > -claim.margin:
        return HOLDS
    if claim.kind == NOT_ABOVE:
        return HOLDS if found.high < claim.margin else FAILS if found.verdict == "better" else LEVEL
    if found.verdict == "better":
        return HOLDS
    return FAILS if found.verdict == "worse" else LEVEL


def _decided(verdicts: Sequence[str]) -> set[str]:
    """The verdicts that count: those of fair comparisons over several seeds."""
    return {*verdicts} - {UNFAIR, ALONE}
