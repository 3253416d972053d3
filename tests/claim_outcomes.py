"""Outcomes with and without Gandalf, and a claim about them."""

from __future__ import annotations

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
