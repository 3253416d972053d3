"""A claim judged by outcomes over the small corpus of `claim_outcomes`, each of two seeds."""

from __future__ import annotations

from claim_outcomes import EXAM, with_twins

from tools.claims.judging import evaluate_claims


def judged(claim, outcomes):
    (found,) = evaluate_claims([claim], with_twins(outcomes), lambda cell: EXAM, draws=300)
    return found
