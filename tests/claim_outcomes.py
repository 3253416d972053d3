"""Outcomes with and without Gandalf, and a claim about them."""

from __future__ import annotations

from dataclasses import replace

from ranked_outcomes import exam, outcome

from tools.claims.ledger import Claim, Side

EXAM = exam()
GANDALF, HARD = Side(("gandalf",)), Side(("gandalf",), {"soft": False})


def hard(quality, **named):
    return outcome(
        EXAM,
        quality,
        augmentation="gandalf w/o SA",
        augment_settings={"gandalf": {"soft": False}},
        **named,
    )


def soft(quality, **named):
    return outcome(EXAM, quality, augmentation="gandalf", **named)


def above(**changes) -> Claim:
    return Claim("x", "paper", "It helps.", **{"after": GANDALF, "metrics": ("P@1",), **changes})


def with_twins(outcomes):
    """Each outcome with that of another seed, which ranks alike: one seed alone decides nothing."""
    twins = []
    for one in outcomes:
        members = tuple(replace(member, seed=member.seed + 50) for member in one.cell.ensemble)
        cell = replace(one.cell, seed=one.cell.seed + 50, ensemble=members)
        twins.append(replace(one, cell=cell, key=f"{one.key} again"))
    return [*outcomes, *twins]
