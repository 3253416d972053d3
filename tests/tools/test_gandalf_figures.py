"""Figures and table of the Gandalf paper, from outcomes of a known quality."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from ranked_outcomes import exam, outcome

from tailwright.errors import InputError
from tailwright.study.run.outcomes import list_cells, save_outcome
from tools import gandalf_figures
from tools.gandalf_figures import (
    COLUMNS,
    companion_sheet,
    curve_sheet,
    main,
    prediction_sheet,
    sheets_of,
    similarity_sheet,
)

EXAM = exam()


def cells(**named):
    return {name: outcome(EXAM, 0.3 + 0.2 * n, augmentation=name, **named) for n, name in enumerate(COLUMNS)}


def shown(sheet):
    return [[cell.text for cell in row] for group in sheet.groups for row in group]


def test_similarities_are_told_by_quantiles(monkeypatch, tmp_path):
    (tmp_path / "run").mkdir()
    cosines = {"random document": np.linspace(0, 1, 101), "co-document": np.full(10, 0.99)}
    monkeypatch.setattr(gandalf_figures, "load", lambda folder: None)
    monkeypatch.setattr(gandalf_figures, "similarities", lambda run, corpus, seed: cosines)
    kept = replace(outcome(EXAM, 0.5), folder=tmp_path)
    rows = shown(similarity_sheet([kept, outcome(EXAM, 0.5)], EXAM.corpus, 0))
    assert rows[0] == ["none", "random document", "0.10", "0.50", "0.90", "5"]
    assert rows[1:] == [["none", "co-document", "0.99", "0.99", "0.99", "100"]]


def test_curves_have_every_watched_epoch_once():
    def epoch(phase, number, train):
        watched = {"train": train, "test": 10.0}
        return {"time": 0, "event": "epoch", "phase": phase, "epoch": number, "watched": watched}

    log = (
        epoch("texts", 1, 20.0),
        epoch("texts", 1, 30.0),
        {"event": "epoch", "phase": "x"},
        epoch("free", 1, 50),
    )
    rows = shown(curve_sheet([replace(outcome(EXAM, 0.5), log=log)]))
    assert rows == [["none", "1", "30.0", "10.0", "20.0"], ["none", "2", "50.0", "10.0", "40.0"]]


def test_companions_are_those_of_soft_annotations():
    sheet = companion_sheet(EXAM.corpus, 0)
    rows = shown(sheet)
    assert rows
    assert all(label != companion for label, companion, *_ in rows)
    assert {shared for *_, shared, _ in rows} == {"label"}
    assert all(0.1 < float(target) <= 1 for *_, target in rows)
    assert "100 % of all companions share a word" in sheet.notes[0]


def test_predictions_mark_what_is_wrong_and_count_all_rows():
    sheet = prediction_sheet({"twin": cells(), "astec": {"none": outcome(EXAM, 0.5)}}, EXAM, 3, 0)
    rows = shown(sheet)
    assert len(rows) == 3
    assert {row[1] for row in rows} == {"twin"}
    names = EXAM.labels.names.to_pylist()
    for text, _, *columns in rows:
        row = EXAM.test.texts.to_pylist().index(text)
        true = {names[label] for label in EXAM.test.targets[[row]].indices}
        for listed in columns:
            labels = listed.split("; ")
            assert len(labels) == 5
            assert {label for label in labels if not label.startswith("✗ ")} <= true
            assert not {label.removeprefix("✗ ") for label in labels if label.startswith("✗ ")} & true
    assert sheet.notes[1].startswith("twin: with labelmix more of the five are right on ")
    assert sheet.notes[1].endswith("test rows, fewer on 0.")


def test_only_models_with_cells_can_be_shown():
    with pytest.raises(InputError, match="no finished cells of nothing on toy"):
        sheets_of(list(cells().values()), EXAM, dataset="toy", model="nothing", rows=1, seed=0)


def test_the_command_prints_all_four(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(gandalf_figures, "exam_of", lambda cell: EXAM)
    found = list(cells().values())
    for one in found:
        save_outcome(one, tmp_path / "cells" / one.key)
    list_cells(tmp_path, [(one.key, one.cell) for one in found])
    asked = [str(tmp_path), "--dataset", "toy", "--model", "twin", "--rows", "2"]
    assert main([*asked, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result) == ["Figure 2", "Figure 4", "Figure 5", "Table 4"]
    assert len(result["Table 4"]["rows"]) == 2
    assert main(asked) == 0
    assert "## Table 4: first five labels" in capsys.readouterr().out
    assert main([str(tmp_path), "--dataset", "other"]) == 2
    assert "no finished cells of other" in capsys.readouterr().err
