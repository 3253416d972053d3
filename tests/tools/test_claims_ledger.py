"""The ledger of claims: wrong ones are refused, and ours fits the code, the studies and the papers."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from claim_outcomes import EXAM, HARD

from tailwright.augmentation import augmenters
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.study.compare.fairness import conditions_of
from tailwright.study.plan.plan import read_plan
from tools.claims import page
from tools.claims.judging import evaluate_claims
from tools.claims.ledger import Side, read_ledger
from tools.claims.sides import matches

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ROOT / "studies" / "claims.toml"


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
    assert {(c.tokens, c.epochs, c.pretrained) for c in map(conditions_of, alike)} == {(96, 40, True)}


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
