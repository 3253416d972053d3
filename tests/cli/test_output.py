"""Tables in a terminal: they fit, nothing is cut off, and outside of one they are as wide as they are."""

from __future__ import annotations

import sys

import pytest

from tailwright.cli.output import METRICS, Output, laid_out

HEADER = ["labels", *METRICS]
ROWS = [[name, *(f"{10 * n + 0.25:.2f}" for n in range(10))] for name in ("all labels", "head", "tail")]


@pytest.mark.parametrize(("columns", "tables"), [(40, 3), (60, 2), (80, 2), (120, 1)])
def test_a_table_of_metrics_is_split_until_it_fits(columns, tables):
    pieces = laid_out(HEADER, ROWS, columns).split("\n\n")
    assert len(pieces) == tables
    assert max(len(line) for piece in pieces for line in piece.splitlines()) <= columns
    lines = [[line.replace("all labels", "all-labels").split() for line in p.splitlines()] for p in pieces]
    for place, (name, *cells) in enumerate([HEADER, *ROWS]):
        assert {piece[place][0] for piece in lines} == {name.replace(" ", "-")}
        assert [cell for piece in lines for cell in piece[place][1:]] == cells


def test_words_of_the_last_column_are_wrapped_before_a_table_is_split():
    meaning = "what the setting means in a sentence that is rather longer than a line"
    shown = laid_out(["setting", "default", "meaning"], [["trees", "3", meaning]], 60)
    assert "\n\n" not in shown
    assert max(map(len, shown.splitlines())) <= 60
    assert " ".join(shown.split()) == f"setting default meaning trees 3 {meaning}"


def test_two_columns_are_never_split_however_narrow_the_terminal():
    assert "\n\n" not in laid_out(["a name", "rows"], [["a long name of a label", "1,234,567"]], 10)


def test_outside_of_a_terminal_a_table_is_whole(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    Output(as_json=False, quiet=True).table(HEADER, ROWS)
    printed = capsys.readouterr().out
    assert printed == laid_out(HEADER, ROWS) + "\n"
    assert printed.count("labels") == 2
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Output(as_json=False, quiet=True).table(HEADER, ROWS)
    assert capsys.readouterr().out == laid_out(HEADER, ROWS, 60) + "\n"
