"""The claims ledger: every kind of claim can hold and fail, and nothing is said of what was not run."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from claim_outcomes import EXAM, GANDALF, HARD, above, hard, soft, with_twins
from ranked_outcomes import exam, outcome
from toy_study import plan_of, write_data

from tailwright.augmentation import augmenters
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.study.compare.fairness import conditions_of
from tailwright.study.plan.plan import read_plan
from tailwright.study.run.outcomes import list_cells, save_outcome
from tailwright.study.run.runner import prepared, run_study
from tools.claims import page
from tools.claims.__main__ import main
from tools.claims.judging import evaluate_claims
from tools.claims.ledger import Claim, Side, read_ledger
from tools.claims.page import judge_studies
from tools.claims.sides import matches
from tools.claims.verdicts import together

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ROOT / "studies" / "claims.toml"


def judged(claim, outcomes):
    (found,) = evaluate_claims([claim], with_twins(outcomes), lambda cell: EXAM, draws=300)
    return found


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


def test_a_claim_at_some_fractions_looks_at_no_other():
    outcomes = [outcome(EXAM, 0.2), soft(0.8)]
    assert judged(above(fractions=(0.05,)), outcomes).verdict == "not yet tested"


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


def test_what_would_hold_alone_may_be_noise_among_many():
    outcomes = [outcome(EXAM, 0.5), soft(0.56, noise=18)]
    assert judged(above(), outcomes).verdict == "holds"
    many = judged(above(metrics=("P@1", "R@10", *(f"nDCG@{k}" for k in range(6, 12)))), outcomes)
    assert (many.verdict, len(many.effects)) == ("=", 8)


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


def test_the_command_judges_the_outcomes_of_study_folders(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.claims.judging.exam_of", lambda cell: EXAM)
    for name, one in zip("ab", (outcome(EXAM, 0.3), soft(0.8)), strict=True):
        seeds = with_twins([one])
        for found in seeds:
            save_outcome(found, tmp_path / name / "cells" / found.key)
        list_cells(tmp_path / name, [(found.key, found.cell) for found in seeds])
    (tmp_path / "ledger.toml").write_text(
        '[[claim]]\nid = "x"\npaper = "p"\nsays = "s"\nkind = "above"\nafter = "gandalf"\nmetrics = "P@1"\n'
    )
    monkeypatch.setattr(
        page, "evaluate_claims", lambda ledger, found: evaluate_claims(ledger, found, lambda c: EXAM, 200)
    )
    judgements = judge_studies([tmp_path / "a", tmp_path / "b"], tmp_path / "ledger.toml", tmp_path / "c.md")
    assert [(one.verdict, one.effects[0].seeds) for one in judgements] == [("holds", 2)]
    assert "Verdict: **holds**." in (tmp_path / "c.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """The folder of a finished study."""
    place = tmp_path_factory.mktemp("claims")
    write_data(place / "data")
    small = '[datasets]\ntoy = "data"\n[models.popularity]\n[augmentations.none]\n[augmentations.gandalf]\n'
    run_study(prepared(plan_of(place, small), place / "study"), shown=False)
    return place / "study"


def test_claims_are_judged_by_finished_studies(study, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    written = tmp_path / "claims.md"
    assert main([str(study), "--out", str(written), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["page"] == str(written)
    assert len(said["claims"]) > 10
    assert written.is_file()
    assert main([str(study), "--ledger", "none.toml", "--out", str(written)]) == 2
    assert "none.toml" in capsys.readouterr().err
    assert main([str(tmp_path), "--out", str(written)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "found no study" in line


def test_a_side_with_a_name_stands_for_its_settings_and_the_page_says_which(tmp_path):
    (tmp_path / "ledger.toml").write_text(
        '[sides."hard gandalf"]\nmethod = "gandalf"\nsoft = false\n'
        + NAMED
        + 'kind = "above"\nbefore = "hard gandalf"\nafter = "gandalf"\n'
    )
    (claim,) = read_ledger(tmp_path / "ledger.toml")
    assert (claim.before[0].methods, claim.before[0].settings) == (HARD.methods, HARD.settings)
    assert (claim.before[0].title, claim.after.title) == ("hard gandalf", "gandalf")
    text = page.claims_page(evaluate_claims([claim], [], lambda cell: EXAM, 10))
    assert "- hard gandalf: gandalf (soft=False)" in text


NAMED = '[[claim]]\nid = "x"\npaper = "p"\nsays = "s"\n'
BAD = {
    "claim = 3": "claim: found 3, expected [[claim]] for each",
    "claims = 3": "unknown key 'claims'; did you mean 'claim'?",
    "sides = 3": "sides: found 3, expected [sides.NAME] for each",
    '[[claim]]\npaper = "p"': "id is missing",
    NAMED + 'kind = "abov"': "[claim x] unknown kind 'abov'; did you mean 'above'?",
    NAMED + 'kind = "above"\nmetric = "P@1"': "did you mean 'metrics'?",
    NAMED + 'kind = "gains more in"\nmetrics = "P@1"': "metrics: found 1, expected two",
    NAMED + 'kind = "above"\nslices = "tale"': "did you mean 'tail'?",
    NAMED + 'kind = "above"\nfractions = [0]': "fractions: found [0]",
    NAMED + 'kind = "above"\nafter = 3': "after: found 3",
    NAMED + 'kind = "above"\nafter = { soft = true }': "settings of one method",
    NAMED + 'kind = "found best"': "setting is missing",
    NAMED + 'kind = "up to"': "percent: found 0, expected a number above 0",
    NAMED + 'kind = "above"\npublished = [{ table = "1" }]': "from is missing",
    (NAMED + 'untestable = "no"\n') * 2: "found the claim 'x' twice",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_ledger_that_is_wrong_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "claims.toml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_ledger(path)
    assert BAD[text] in str(error.value)
    assert str(path) in str(error.value)


def test_the_ledger_names_only_methods_and_models_that_are_built_or_planned():
    planned_models = {
        "decaf",
        "eclare",
        "inceptionxml",
        "inceptionxml-lf",
        "attentionxml",
        "roberta",
        "la-roberta",
    }
    planned_models |= {"lightxml"}
    planned_methods = {"eda", "wordnet", "gda", "xda", "tailmix", "wordmix", "hiddenmix", "tmix", "ssmix"}
    for claim in read_ledger(LEDGER):
        sides = (*claim.before, claim.after)
        named = {*claim.models, *(side.model for side in sides if side.model)}
        assert named <= {*models.names(), *planned_models}, claim.id
        assert set(claim.methods) <= {*augmenters.names(), *planned_methods}, claim.id
        for side in sides:
            for method in set(side.methods) & set(augmenters.names()):
                settings_from(augmenters.get(method).Settings, side.settings)
            if side.model in models.names() and not side.methods:
                settings_from(models.get(side.model).Settings, side.settings)


def test_the_cells_of_the_gda_study_are_what_the_ledger_speaks_of(monkeypatch, tmp_path):
    """And its classifiers can be compared: they read as much, learn as long, on the same encoder."""
    monkeypatch.setenv("TAILWRIGHT_DATA", str(tmp_path))
    claims = {claim.id: claim for claim in read_ledger(LEDGER)}
    sides = [*claims["gda-above-rules"].before, claims["gda-above-rules"].after, Side()]
    cells = read_plan(ROOT / "studies" / "gda.toml").listed
    assert [sum(matches(cell, side) for side in sides) for cell in cells] == [1] * 96
    sources = ("max_words", "max_rows")
    wanted = {tuple(side.settings[name] for name in sources) for side in sides[:3]}
    assert wanted == {(60, 500)}
    for fraction in (0.01, 0.05, 0.5, 1.0):
        assert len({conditions_of(cell) for cell in cells if cell.fraction == fraction}) == 1
    alike = [c for c in read_plan(ROOT / "studies" / "long-texts.toml").listed if c.dataset.endswith("alike")]
    assert {(c.tokens, c.epochs, c.pretrained) for c in map(conditions_of, alike)} == {(96, 30, True)}


def test_every_published_figure_of_the_ledger_stands_in_its_table(real_data):
    folder = real_data.parent / "published"
    if not folder.is_dir():
        pytest.skip("no folder of published tables")
    values: dict[tuple[str, str, str], set[float]] = {}
    for path in folder.glob("*_table*.csv"):
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                values.setdefault((row["paper"], row["table"], row["metric"]), set()).add(float(row["value"]))
    for claim in read_ledger(LEDGER):
        for figure in claim.published:
            printed = values[claim.paper, figure.table, figure.metric]
            assert {figure.before, figure.after} <= printed, (claim.id, figure)
