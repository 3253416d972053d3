"""The page of claims: all that is known of each, and what other studies said of it before."""

from __future__ import annotations

from dataclasses import replace

from claim_outcomes import EXAM, HARD, above, hard, soft, with_twins
from ranked_outcomes import outcome

from tailwright.study.run.outcomes import list_cells, save_outcome
from tools.claims import page
from tools.claims.__main__ import main
from tools.claims.judging import evaluate_claims
from tools.claims.kept import entries_in
from tools.claims.ledger import Published, Side
from tools.claims.page import claims_page, standing, write_claims


def test_the_page_has_every_claim_with_figures_effects_and_verdict(tmp_path):
    figure = Published("3", "Some|set, Model", "P@1", 37.5, 43.52)
    ledger = [
        above(published=(figure,), models=("twin",)),
        replace(above(), id="y", after=Side(("nonsense",))),
    ]
    outcomes = [outcome(EXAM, 0.3), soft(0.8), outcome(EXAM, 0.5, model="linear"), soft(0.5, model="linear")]
    judgements = evaluate_claims(ledger, with_twins(outcomes), lambda cell: EXAM, draws=200)
    text = claims_page(judgements)
    assert "2 claims: 1 holds, 1 not yet tested." in text
    assert "| [It helps.](#x) | paper | holds | " in text
    assert "- P@1 37.5 → 43.52 (+6.02), Some\\|set, Model, table 3" in text
    assert (
        f"| toy | twin | P@1, gandalf against none | {judgements[0].effects[0].shown} | holds | 300 | 2 |"
        in text
    )
    assert "On models that the paper does not speak of:" in text
    assert "Verdict: **not yet tested**: nonsense not built yet." in text
    assert "python -m tools.claims label-texts" in text
    write_claims(judgements, tmp_path / "new" / "claims.md")
    assert (tmp_path / "new" / "claims.md").read_text(encoding="utf-8") == text


def test_what_a_study_says_nothing_of_stays_on_the_page(tmp_path):
    ledger = [above(), replace(above(), id="y", after=HARD), replace(above(), id="z", untestable="why")]
    path = tmp_path / "claims.md"

    def write(outcomes, before=""):
        judgements = evaluate_claims(ledger, with_twins(outcomes), lambda cell: EXAM, draws=200)
        former = entries_in(before)
        write_claims([standing(one, former, ()) for one in judgements], path)
        return path.read_text(encoding="utf-8")

    both = write([outcome(EXAM, 0.3), soft(0.8), hard(0.8)])
    assert "3 claims: 2 holds, 1 cannot be tested here." in both
    assert write([], both) == both
    changed = write([outcome(EXAM, 0.8), soft(0.3)], both)
    assert "3 claims: 1 holds, 1 does not hold, 1 cannot be tested here." in changed
    assert "3 claims: 2 not yet tested" in write([])
    of_another = write([outcome(EXAM, 0.8, model="linear"), soft(0.3, model="linear")], both)
    assert "3 claims: 1 holds, 1 mixed, 1 cannot be tested here." in of_another
    assert write([], of_another) == of_another


def test_claims_that_are_not_asked_for_keep_what_the_page_says(tmp_path, monkeypatch, capsys):
    lines = 'says = "s"\nkind = "above"\nafter = "gandalf"\nmetrics = "P@1"\n'
    ledger, out = tmp_path / "ledger.toml", tmp_path / "claims.md"
    ledger.write_text("".join(f'[[claim]]\nid = "{name}"\npaper = "{name}"\n{lines}' for name in "xy"))
    monkeypatch.setattr(
        page, "evaluate_claims", lambda ledger, found: evaluate_claims(ledger, found, lambda c: EXAM, 200)
    )
    outcomes = [[outcome(EXAM, 0.3), soft(0.8)], [outcome(EXAM, 0.8), soft(0.3)]]
    for folder, each in zip(("first", "second"), outcomes, strict=True):
        ran = with_twins(each)
        for one in ran:
            save_outcome(one, tmp_path / folder / "cells" / one.key)
        list_cells(tmp_path / folder, [(one.key, one.cell) for one in ran])
    options = ["--ledger", str(ledger), "--out", str(out)]
    assert main([str(tmp_path / "first"), *options]) == 0
    assert main([str(tmp_path / "second"), *options, "--paper", "y"]) == 0
    assert "2 claims: 1 holds, 1 does not hold." in out.read_text(encoding="utf-8")
    assert main([str(tmp_path / "first"), *options, "--claim", "y"]) == 0
    assert "2 claims: 2 holds." in out.read_text(encoding="utf-8")
    assert main([str(tmp_path / "second"), *options, "--paper", "z"]) == 2
    assert "found no paper 'z', expected one of x, y" in capsys.readouterr().err
    assert main([str(tmp_path / "second"), *options, "--claim", "z"]) == 2
    assert "found no claim 'z', expected one of x, y" in capsys.readouterr().err
