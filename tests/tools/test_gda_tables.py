"""The tables of the GDA paper, from outcomes of a known quality."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from ranked_outcomes import exam, outcome

from tailwright.errors import InputError
from tailwright.study.run.outcomes import list_cells, save_outcome
from tools.gda_tables import AUGMENTATIONS, BY_PROPENSITY, PLAIN, main, sheets_of

EXAM = exam()


def cells():
    """Both classifiers with half and all of the rows, two seeds; the search took another weight for each."""
    return [
        replace(
            outcome(
                EXAM,
                0.4 + 0.1 * place,
                model=model,
                augmentation=name,
                seed=seed,
                fraction=fraction,
                n_train=int(400 * fraction),
                n_augmented=0 if name == "none" else 50,
            ),
            chosen={} if name == "none" else {f"{name}.weight": 0.5 * (seed + 1)},
        )
        for model in ("roberta", "la-roberta")
        for fraction in (0.5, 1.0)
        for place, name in enumerate(AUGMENTATIONS)
        for seed in (0, 1)
    ]


def shown(sheet):
    return [[cell.text for cell in row] for group in sheet.groups for row in group]


def test_rows_are_in_the_order_of_the_paper_with_rows_weights_and_spread():
    sheets = sheets_of(cells(), "toy")
    assert [sheet.title.split(":")[0] for sheet in sheets] == [f"Table {n}" for n in range(1, 8)]
    table = shown(sheets[3])
    assert [row[:5] for row in table[:2]] == [
        ["100 %", "none", "400", "", "2"],
        ["100 %", "gda", "450", "0.5, 1", "2"],
    ]
    assert [row[1] for row in table] == [*AUGMENTATIONS, *AUGMENTATIONS]
    assert {row[0] for row in table[4:]} == {"50 %"}
    assert all("±" in cell for row in table for cell in row[5:])
    assert list(sheets[3].columns[5:]) == list(PLAIN)
    assert list(sheets[6].columns[5:]) == list(BY_PROPENSITY)


def test_classifiers_are_compared_without_augmentation_on_all_rows():
    first, second, third = sheets_of(cells(), "toy")[:3]
    assert [row[:2] for row in shown(first)] == [["roberta", "2"], ["la-roberta", "2"]]
    assert list(second.columns[2:]) == list(BY_PROPENSITY)
    shares = [float(row[1]) for row in shown(third)]
    assert shares == sorted(shares, reverse=True)
    assert f"Together {sum(shares):.1f} %" in third.notes[0]


def test_classifiers_may_be_of_another_study_which_no_other_table_takes():
    others = [outcome(EXAM, 0.9, model="xml-cnn"), outcome(EXAM, 0.8, model="roberta")]
    sheets = sheets_of(cells(), "toy", others)
    assert [row[0] for row in shown(sheets[0])] == ["xml-cnn", "roberta"]
    assert [shown(sheet) for sheet in sheets[2:]] == [shown(sheet) for sheet in sheets_of(cells(), "toy")[2:]]


def test_a_corpus_without_cells_is_refused():
    with pytest.raises(InputError, match="no finished cells of other with all rows, expected one of: toy"):
        sheets_of(cells(), "other")


def test_the_command_prints_all_tables(tmp_path, capsys):
    found = cells()
    for one in found:
        save_outcome(one, tmp_path / "cells" / one.key)
    list_cells(tmp_path, [(one.key, one.cell) for one in found])
    assert main([str(tmp_path), "--path", "toy", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["Table 6"]["rows"]) == 8
    assert main([str(tmp_path), "--path", "toy"]) == 0
    assert "## Table 7: LA-RoBERTa" in capsys.readouterr().out
    assert main([str(tmp_path), "--path", "other"]) == 2
    assert main([str(tmp_path), "--path", "toy", "--classifiers", str(tmp_path)]) == 0
    assert main([str(tmp_path), "--path", "toy", "--classifiers", str(tmp_path / "none")]) == 2
