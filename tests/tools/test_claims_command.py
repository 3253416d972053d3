"""The command that judges the claims by the outcomes in study folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claim_outcomes import EXAM, soft, with_twins
from ranked_outcomes import outcome
from toy_study import plan_of, write_data

from tailwright.study.run.outcomes import list_cells, save_outcome
from tailwright.study.run.runner import prepared, run_study
from tools.claims import page
from tools.claims.__main__ import main
from tools.claims.judging import evaluate_claims
from tools.claims.page import judge_studies

ROOT = Path(__file__).resolve().parents[2]


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
