"""Which outcomes are on which side of a claim, and why nothing is said where a side has none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from claim_outcomes import EXAM, GANDALF, HARD, above, hard, soft
from judged_claims import judged
from ranked_outcomes import outcome

from tools.claims.ledger import Claim, Side
from tools.claims.sides import matches


def test_sides_are_told_apart_by_their_settings():
    outcomes = [outcome(EXAM, 0.2), hard(0.5), soft(0.9)]
    assert (
        judged(above(before=(HARD,)), outcomes).effects[0].what == "P@1, gandalf against gandalf (soft=False)"
    )
    assert judged(above(before=(HARD,)), outcomes).verdict == "holds"
    assert judged(above(after=HARD), outcomes).verdict == "holds"
    assert judged(above(before=(GANDALF,), after=HARD), outcomes).verdict == "does not hold"


def test_a_setting_that_is_its_default_is_as_good_as_not_named():
    named = soft(0.9, augment_settings={"gandalf": {"soft": True}})
    assert matches(named.cell, GANDALF)
    assert not matches(named.cell, HARD)
    assert not matches(outcome(EXAM, 0.5).cell, GANDALF)
    searched = replace(named.cell, search={"gandalf.threshold": (0.1, 0.2)}, augment_settings={})
    assert matches(searched, Side(("gandalf",), {"threshold": 0.3}))


def test_a_claim_at_some_fractions_looks_at_no_other():
    outcomes = [outcome(EXAM, 0.2), soft(0.8)]
    assert judged(above(fractions=(0.05,)), outcomes).verdict == "not yet tested"


def test_models_that_the_paper_does_not_speak_of_are_judged_apart():
    outcomes = [
        outcome(EXAM, 0.3),
        soft(0.8),
        outcome(EXAM, 0.8, model="linear"),
        soft(0.3, model="linear"),
    ]
    found = judged(above(models=("twin",)), outcomes)
    assert (found.verdict, [effect.system for effect in found.beyond]) == ("holds", ["linear"])
    assert found.beyond[0].verdict == "does not hold"
    absent = judged(above(models=("astec",)), outcomes)
    assert (absent.verdict, absent.why, len(absent.beyond)) == (
        "not yet tested",
        "no finished cells of both sides",
        2,
    )


def test_sides_with_models_of_their_own_are_set_against_each_other():
    claim = Claim(
        "x",
        "p",
        "s",
        "at least",
        before=(Side(model="twin"),),
        after=Side(("gandalf",), model="linear"),
        metrics=("P@1",),
    )
    outcomes = [outcome(EXAM, 0.4), soft(0.8, model="linear"), soft(0.1), outcome(EXAM, 0.1, model="linear")]
    found = judged(claim, outcomes)
    assert (found.verdict, len(found.effects), found.effects[0].system) == ("holds", 1, "linear")
    assert found.effects[0].what == "P@1, linear + gandalf against twin"


def test_a_model_of_its_own_may_be_told_apart_by_its_settings():
    few, many = (replace(outcome(EXAM, 0.5, model="linear").cell, settings={"trees": n}) for n in (1, 5))
    assert matches(few, Side(model="linear"))
    assert matches(few, Side(model="linear", settings={"trees": 1}))
    assert not matches(many, Side(model="linear", settings={"trees": 1}))
    assert not matches(few, Side(model="twin", settings={"width": 16}))
    assert Side(model="linear", settings={"trees": 1}).meaning == "linear (trees=1)"


def test_an_ensemble_is_told_apart_from_its_members():
    none, with_gandalf = outcome(EXAM, 0.3), soft(0.5)
    cell = replace(none.cell, augmentation="both", ensemble=(none.cell, with_gandalf.cell))
    both = replace(outcome(EXAM, 0.9, noise=5), cell=cell, key="both")
    side = Side(ensemble=(Side(), GANDALF))
    found = judged(above(before=(Side(), GANDALF), after=side), [none, with_gandalf, both])
    assert found.verdict == "holds"
    assert [effect.what for effect in found.effects] == [
        "P@1, ensemble of none and gandalf against none",
        "P@1, ensemble of none and gandalf against gandalf",
    ]
    assert not matches(cell, Side(ensemble=(Side(), HARD)))


def test_only_seeds_that_both_sides_have_are_compared():
    outcomes = [*(outcome(EXAM, 0.3, seed=seed) for seed in range(3)), soft(0.8, seed=1), soft(0.8, seed=2)]
    assert judged(above(), outcomes).effects[0].seeds == 4
    assert judged(above(), [outcome(EXAM, 0.3, seed=0), soft(0.8, seed=1)]).verdict == "not yet tested"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (above(after=Side(("nonsense",))), "nonsense not built yet"),
        (above(models=("nonsense",)), "none of nonsense is built yet"),
        (
            above(before=(Side(model="nonsense"),), after=Side(model="absurd")),
            "none of nonsense, absurd is built yet",
        ),
        (above(), "no finished cells of both sides"),
        (above(after=Side(("gandalf",), {"hat": True})), "unknown setting 'hat'"),
    ],
)
def test_what_is_missing_is_said(claim, why):
    found = judged(claim, [soft(0.5)])
    assert found.verdict == "not yet tested"
    assert why in found.why


def test_a_claim_that_cannot_be_tested_says_why():
    found = judged(above(untestable="no such corpus"), [outcome(EXAM, 0.3), soft(0.8)])
    assert (found.verdict, found.why, found.effects) == ("cannot be tested here", "no such corpus", ())
