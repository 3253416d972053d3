"""Each kind of claim can hold and fail, and noise decides nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from claim_outcomes import EXAM, HARD, above, hard, soft, with_twins
from judged_claims import judged
from ranked_outcomes import exam, outcome

from tools.claims.judging import evaluate_claims
from tools.claims.verdicts import together


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [(0.3, 0.8, "holds"), (0.8, 0.3, "does not hold"), (0.5, 0.5, "=")],
)
def test_above_is_judged_by_the_difference_beyond_noise(before, after, verdict):
    found = judged(above(), [outcome(EXAM, before), soft(after, noise=9)])
    assert found.verdict == verdict
    (effect,) = found.effects
    assert (effect.dataset, effect.system, effect.rows, effect.seeds) == ("toy", "twin", 300, 2)
    assert effect.what == "P@1, gandalf against none"
    assert re.fullmatch(r"[+-]\d+\.\d\d \([+-]\d+\.\d\d to [+-]\d+\.\d\d\)", effect.shown)


@pytest.mark.parametrize(
    ("kind", "before", "after", "verdict"),
    [
        ("at least", 0.3, 0.8, "holds"),
        ("at least", 0.8, 0.3, "does not hold"),
        ("at least", 0.5, 0.5, "="),
        ("not above", 0.8, 0.3, "holds"),
        ("not above", 0.3, 0.8, "does not hold"),
        ("not above", 0.5, 0.5, "="),
    ],
)
def test_parity_has_to_be_shown_and_noise_shows_nothing(kind, before, after, verdict):
    assert judged(above(kind=kind), [outcome(EXAM, before), soft(after, noise=9)]).verdict == verdict


@pytest.mark.parametrize("kind", ["at least", "not above"])
def test_equal_rankings_are_at_par(kind):
    assert judged(above(kind=kind), [outcome(EXAM, 0.5), soft(0.5)]).verdict == "holds"


def test_gains_in_two_metrics_are_compared_on_the_same_draws():
    outcomes = [outcome(EXAM, 0.3), soft(0.8)]
    more = above(kind="gains more in", metrics=("R@1", "P@5"))
    assert judged(more, outcomes).verdict == "holds"
    assert judged(replace(more, metrics=("P@5", "R@1")), outcomes).verdict == "does not hold"
    assert judged(more, outcomes).effects[0].what == "gain in R@1 less gain in P@5, gandalf against none"


def test_gains_on_two_slices_are_compared():
    rare = EXAM.labels.counts <= 5
    outcomes = [outcome(EXAM, 0.3), soft(np.where(rare, 0.95, 0.3))]
    more = above(kind="gains more on", metrics=("R@5",), slices=("unseen", "torso"))
    assert judged(more, outcomes).verdict == "holds"
    assert judged(replace(more, slices=("torso", "unseen")), outcomes).verdict == "does not hold"


def test_gains_with_two_models_are_compared():
    one = {"model": "inceptionxml", "settings": {"epochs": 10}}
    other = {"model": "inceptionxml-lf", "variant": "wide", "settings": {"epochs": 5, "free_epochs": 5}}
    outcomes = [outcome(EXAM, 0.2, **one), soft(0.8, **one), outcome(EXAM, 0.6, **other), soft(0.7, **other)]
    outcomes.append(soft(0.9))
    more = above(kind="gains more with", models=("inceptionxml", "inceptionxml-lf"))
    found = judged(more, outcomes)
    assert (found.verdict, len(found.effects), found.beyond) == ("holds", 1, ())
    assert (
        found.effects[0].what
        == "gain in P@1 with inceptionxml less with inceptionxml-lf (wide), gandalf against none"
    )
    assert judged(replace(more, models=more.models[::-1]), outcomes).verdict == "does not hold"
    assert judged(more, outcomes[:3]).verdict == "not yet tested"


def test_up_to_is_judged_by_the_relative_gain_where_it_is_largest():
    outcomes = [
        outcome(EXAM, 0.4),
        soft(0.9),
        outcome(EXAM, 0.6, model="astec"),
        soft(0.6, model="astec", noise=9),
    ]
    was, now = (one.metrics["P@1"] for one in outcomes[:2])
    gain = 100 * (now / was - 1)
    less, more = (judged(above(kind="up to", percent=gain + beyond), outcomes) for beyond in (-25, 25))
    assert (less.verdict, more.verdict) == ("holds", "does not hold")
    assert [effect.verdict for effect in less.effects] == ["does not hold", "holds"]
    assert less.effects[1].what == "relative gain in P@1, gandalf against none"
    assert less.effects[1].shown.startswith(f"{gain:+.1f} % (")
    assert judged(above(kind="up to", percent=gain), outcomes[:2]).verdict == "="


def test_gains_at_two_fractions_are_compared():
    outcomes = [
        outcome(EXAM, 0.2, fraction=0.05, n_train=390),
        soft(0.8, fraction=0.05, n_train=390),
        outcome(EXAM, 0.8),
        soft(0.8),
    ]
    more = above(kind="gains more at", fractions=(0.05, 1.0))
    found = judged(more, outcomes)
    assert (found.verdict, len(found.effects)) == ("holds", 1)
    assert found.effects[0].what == "gain in P@1 at 5 % less at 100 %, gandalf against none"
    assert judged(replace(more, fractions=(1.0, 0.05)), outcomes).verdict == "does not hold"
    assert judged(more, outcomes[:3]).verdict == "not yet tested"
    longer = [replace(one, cell=replace(one.cell, settings={"epochs": 9})) for one in outcomes[:2]]
    assert judged(more, [*longer, *outcomes[2:]]).verdict == "holds"
    wider = [replace(one, cell=replace(one.cell, settings={"width": 9})) for one in outcomes[:2]]
    assert judged(more, [*wider, *outcomes[2:]]).verdict == "not yet tested"


def test_training_times_are_compared_seed_by_seed():
    faster = above(kind="faster", before=(HARD,))

    def times(now, was):
        return [
            make(0.5, seed=seed, train_seconds=seconds)
            for make, of_seeds in ((soft, now), (hard, was))
            for seed, seconds in enumerate(of_seeds)
        ]

    found = judged(faster, times((5, 6), (20, 24)))
    assert found.verdict == "holds"
    assert found.effects[0].shown == "5.5 s against 22.0 s (4.00 times as fast)"
    assert judged(faster, times((20, 24), (5, 6))).verdict == "does not hold"
    assert judged(faster, times((5, 30), (20, 24))).verdict == "="


@pytest.mark.parametrize(
    ("best", "verdict"), [((0.5, 0.5), "holds"), ((0.5, 1.0), "="), ((0.1, 1.0), "does not hold")]
)
def test_a_searched_setting_is_best_where_the_searches_chose_it(best, verdict):
    claim = above(kind="found best", setting="gandalf.weight", value=0.5)
    outcomes = [
        replace(
            soft(0.5, seed=seed),
            searched={
                f"gandalf.weight={value}": 60.0 if value == right else 50.0 for value in (0.1, 0.5, 1.0)
            },
        )
        for seed, right in enumerate(best)
    ]
    found = judged(claim, [*outcomes, soft(0.4, seed=5)])
    assert found.verdict == verdict
    assert found.effects[0].shown.startswith(f"best in {2 * best.count(0.5)} of 4 searches")


def test_a_claim_holds_only_if_it_holds_on_every_dataset():
    other = exam("other")
    here = [outcome(EXAM, 0.3), soft(0.8)]
    there = [outcome(other, 0.8), outcome(other, 0.3, augmentation="gandalf")]
    exams = {"toy": EXAM, "other": other}
    everywhere = with_twins([*here, *there])
    (found,) = evaluate_claims([above()], everywhere, lambda cell: exams[cell.dataset], draws=200)
    assert found.verdict == "mixed"
    assert {(effect.dataset, effect.verdict) for effect in found.effects} == {
        ("toy", "holds"),
        ("other", "does not hold"),
    }
    assert together(["=", "does not hold"]) == "does not hold"


def test_what_would_hold_alone_may_be_noise_among_many():
    outcomes = [outcome(EXAM, 0.5), soft(0.56, noise=18)]
    assert judged(above(), outcomes).verdict == "holds"
    many = judged(above(metrics=("P@1", "R@10", *(f"nDCG@{k}" for k in range(6, 12)))), outcomes)
    assert (many.verdict, len(many.effects)) == ("=", 8)
