"""What cannot be compared decides nothing: rows added, conditions of models, one seed, kept effects."""

from __future__ import annotations

from dataclasses import replace

import pytest
from claim_outcomes import EXAM, above, soft, with_twins
from ranked_outcomes import outcome

from tailwright.errors import InputError
from tools.claims.judging import evaluate_claims
from tools.claims.kept import Refusal, entries_in, read_refusals
from tools.claims.ledger import Claim, Side
from tools.claims.page import claims_page, standing

EDA, WORDNET, GDA = (Side((name,)) for name in ("eda", "wordnet", "gda"))
FLAT = {"max_tokens": 96, "epochs": 10, "frozen": True}


def judged(claim, outcomes):
    (found,) = evaluate_claims([claim], outcomes, lambda cell: EXAM, draws=200)
    return found


def added(name, quality, rows):
    return outcome(EXAM, quality, augmentation=name, n_augmented=rows)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [(489, "not comparable"), (2_524, "not comparable"), (2_525, "holds"), (3_116, "holds")],
)
def test_two_methods_are_compared_where_their_rows_differ_by_a_tenth_at_most(rows, verdict):
    claim = above(before=(EDA,), after=GDA)
    found = judged(claim, with_twins([added("eda", 0.3, 2_805), added("gda", 0.8, rows)]))
    assert found.verdict == verdict
    if verdict == "not comparable":
        (effect,) = found.effects
        assert (effect.shown, effect.what) == (f"rows added {rows:,} against 2,805", "gda against eda")


def test_rows_are_no_obstacle_where_one_side_adds_none_or_they_are_what_a_part_of_the_method_does():
    outcomes = with_twins([outcome(EXAM, 0.3), added("gda", 0.8, 489)])
    assert judged(above(after=GDA), outcomes).verdict == "holds"
    whole = added("xda", 0.8, 200)
    without = replace(
        added("xda", 0.3, 990), cell=replace(whole.cell, augment_settings={"xda": {"filter": False}}), key="w"
    )
    claim = above(before=(Side(("xda",), {"filter": False}),), after=Side(("xda",)))
    assert judged(claim, with_twins([whole, without])).verdict == "holds"


def pair(**changes):
    """[CLS] and label attention; `changes` are of the latter's settings, or its flag."""
    flags = {"stopped_learning": changes.pop("stopped_learning", True)}
    cls = outcome(EXAM, 0.3, model="roberta", settings=FLAT)
    attention = outcome(EXAM, 0.8, model="la-roberta", settings={**FLAT, **changes})
    return with_twins([replace(cls, stopped_learning=True), replace(attention, **flags)])


ATTENTION = Claim(
    "x", "p", "s", "above", before=(Side(model="roberta"),), after=Side(model="la-roberta"), metrics=("P@1",)
)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"max_tokens": 48}, "tokens 48 against 96"),
        ({"epochs": 3}, "epochs 3 against 10"),
        ({"encoder": "bert-base-uncased"}, "bert-base-uncased, frozen against minilm, frozen"),
        ({"frozen": False}, "minilm against minilm, frozen"),
        ({"stopped_learning": False}, "la-roberta was still learning"),
        ({"max_tokens": 48, "epochs": 3}, "tokens 48 against 96; epochs 3 against 10"),
    ],
)
def test_two_models_that_differ_in_what_they_were_given_are_not_compared(changes, reason):
    found = judged(ATTENTION, pair(**changes))
    assert [(effect.verdict, effect.shown) for effect in found.effects] == [("not comparable", reason)]
    assert found.verdict == "not comparable"


def test_two_models_under_the_same_conditions_are_compared_and_what_is_not_known_is_said():
    known = judged(ATTENTION, pair())
    assert (known.verdict, known.effects[0].unknown) == ("holds", ())
    assert "Not known whether" not in claims_page([known])
    unknown = judged(ATTENTION, pair(stopped_learning=None))
    assert (unknown.verdict, unknown.effects[0].unknown) == ("holds", ("la-roberta",))
    assert "Not known whether training had stopped learning: la-roberta." in claims_page([unknown])


@pytest.mark.parametrize(("vectors", "verdict"), [("random", "not comparable"), ("glove", "holds")])
def test_a_pretrained_encoder_is_compared_with_word_vectors_that_are_pretrained_too(vectors, verdict):
    words = {"max_length": 96, "epochs": 10, "vectors": vectors}
    outcomes = [outcome(EXAM, 0.3, model="xml-cnn", settings=words), pair()[1]]
    claim = replace(ATTENTION, before=(Side(model="xml-cnn"),))
    found = judged(claim, with_twins(outcomes))
    assert found.verdict == verdict
    if vectors == "random":
        assert found.effects[0].shown == "minilm, frozen against random word vectors"


def test_models_with_other_shares_of_the_rows_are_never_set_against_each_other():
    cls, attention = pair()[:2]
    fewer = replace(attention, cell=replace(attention.cell, fraction=0.05), n_train=20)
    claim = replace(ATTENTION, fractions=(0.05, 1.0))
    assert judged(claim, with_twins([cls, fewer])).verdict == "not yet tested"


def test_gains_with_two_models_are_compared_under_the_same_conditions_only():
    def outcomes(epochs):
        settings = {"inceptionxml": {"epochs": 10}, "inceptionxml-lf": {"epochs": epochs, "free_epochs": 5}}
        return with_twins(
            [
                make(quality, model=model, settings=settings[model])
                for model, gain in (("inceptionxml", 0.6), ("inceptionxml-lf", 0.1))
                for make, quality in ((lambda q, **n: outcome(EXAM, q, **n), 0.2), (soft, 0.2 + gain))
            ]
        )

    more = above(kind="gains more with", models=("inceptionxml", "inceptionxml-lf"))
    assert judged(more, outcomes(5)).verdict == "holds"
    found = judged(more, outcomes(25))
    assert [effect.shown for effect in found.effects] == ["epochs 10 against 30"]


def test_one_seed_decides_nothing_by_itself():
    alone = [outcome(EXAM, 0.3), soft(0.8)]
    assert judged(above(), alone).verdict == "one seed"
    assert judged(above(kind="faster"), alone).verdict == "one seed"
    elsewhere = with_twins([outcome(EXAM, 0.3, model="linear"), soft(0.8, model="linear")])
    found = judged(above(), [*alone, *elsewhere])
    assert [(effect.system, effect.verdict) for effect in found.effects] == [
        ("linear", "holds"),
        ("twin", "one seed"),
    ]
    assert found.verdict == "holds"


def test_effects_that_decide_nothing_are_no_part_of_the_correction():
    clear = with_twins([outcome(EXAM, 0.5), soft(0.56, noise=18)])
    others = [
        make(model)
        for model in (
            "linear",
            "astec",
            "decaf",
            "eclare",
            "lightxml",
            "roberta",
            "popularity",
            "attentionxml",
        )
        for make in (lambda m: outcome(EXAM, 0.5, model=m), lambda m: soft(0.5, model=m, noise=9))
    ]
    assert judged(above(), [*clear, *others]).effects[-1].verdict == "holds"
    assert judged(above(), [*clear, *with_twins(others)]).effects[-1].verdict == "="


def test_kept_effects_are_judged_by_the_rules_of_today():
    """A page of effects on `old` cells: one seed, several, and some that the ledger calls unequal."""
    several, alone = with_twins([outcome(EXAM, 0.3), soft(0.8)]), [outcome(EXAM, 0.3, model="astec")]
    first = judged(above(), [*several, *alone, soft(0.8, model="astec")])
    page = claims_page([first]).replace("| one seed | 300 |", "| holds | 300 |")  # as before the rule
    nothing = judged(above(), [])
    kept = standing(nothing, entries_in(page), ())
    assert [(effect.system, effect.verdict) for effect in kept.effects] == [
        ("astec", "one seed"),
        ("twin", "holds"),
    ]
    unequal = Refusal(("x",), "toy", "none", "rows added 1 against 2")
    refused = standing(nothing, entries_in(page), [unequal])
    assert (refused.verdict, {effect.shown for effect in refused.effects}) == (
        "not comparable",
        {unequal.why},
    )
    assert {effect.what for effect in refused.effects} == {"gandalf against none"}
    again = claims_page([refused])
    assert claims_page([standing(nothing, entries_in(again), ())]) == again
    elsewhere = replace(unequal, against="eda")
    assert standing(nothing, entries_in(page), [elsewhere]).verdict == "holds"


@pytest.mark.parametrize(("flag", "unknown"), [(True, ()), (None, ("la-roberta",))])
def test_a_kept_claim_about_models_still_says_of_which_nobody_knows_whether_they_stopped(flag, unknown):
    page = claims_page([judged(ATTENTION, pair(stopped_learning=flag))])
    kept = standing(judged(ATTENTION, []), entries_in(page), ())
    assert (kept.verdict, kept.effects[0].unknown) == ("holds", unknown)
    assert claims_page([kept]) == page


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("kept = 3", "kept: found 3, expected [[kept]] for each"),
        ('[[kept]]\nclaims = "y"', "unknown claim 'y'"),
        ('[[kept]]\nclaims = "x"', "dataset is missing"),
        ('[[kept]]\nclaim = "x"', "did you mean 'claims'?"),
    ],
)
def test_a_wrong_line_about_kept_effects_is_refused(tmp_path, text, wrong):
    path = tmp_path / "claims.toml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_refusals(path, [above()])
    assert wrong in str(error.value)
