"""What a study says while it runs, and how it guesses what is left."""

from __future__ import annotations

import io
import sys

import pytest

from tailwright.study.plan.cells import Cell
from tailwright.study.run.display import Bars, Display, Estimate, Lines, display, in_words

CELL = Cell("toy [x]", "data", "twin", "gandalf", ("gandalf",))


def test_the_nearest_finished_cells_say_how_long_a_cell_takes():
    estimate = Estimate()
    assert estimate.of(CELL) is None
    estimate.add(Cell("other", "", "linear"), 100.0)
    assert estimate.of(CELL) == 100.0
    estimate.add(Cell("other", "", "twin"), 40.0)
    assert estimate.of(CELL) == 40.0
    estimate.add(Cell("toy [x]", "", "twin", seed=1), 10.0)
    assert estimate.of(CELL) == 10.0
    estimate.add(Cell("toy [x]", "", "twin", "gandalf", ("gandalf",), seed=1), 12.0)
    estimate.add(Cell("toy [x]", "", "twin", "gandalf", ("gandalf",), seed=2), 14.0)
    assert estimate.of(CELL) == 13.0
    assert estimate.of(Cell("toy [x]", "", "twin", fraction=0.5)) == (100 + 40 + 10 + 12 + 14) / 5


def test_what_is_left_is_shared_by_the_workers_and_less_what_was_done():
    estimate = Estimate()
    assert estimate.left([CELL], [], 1) is None
    assert estimate.left([], [], 1) == 0
    estimate.add(CELL, 10.0)
    assert estimate.left([CELL] * 3, [(CELL, 4.0)], 2) == (30 + 6) / 2
    assert estimate.left([], [(CELL, 25.0)], 2) == 0


@pytest.mark.parametrize(("seconds", "words"), [(0, "0 s"), (89, "89 s"), (120, "2 min"), (7200, "2.0 h")])
def test_lengths_of_time_are_in_words(seconds, words):
    assert in_words(seconds) == words


def test_lines_say_how_far_it_is_and_what_is_left(capsys):
    with Lines(3) as screen:
        screen.started(CELL)
        screen.ended(CELL, 1, "12 s", 24.0)
        screen.ended(CELL, 2, "failed: no luck", None)
        screen.ended(CELL, 3, "12 s", 0.0)
    title = "toy [x] / twin / gandalf / 1 / seed 0"
    assert capsys.readouterr().err.splitlines() == [
        f"[1/3] {title}: 12 s; about 24 s left",
        f"[2/3] {title}: failed: no luck",
        f"[3/3] {title}: 12 s",
    ]


def test_a_terminal_gets_bars_and_the_same_lines(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "200")
    with Bars(2) as bars:
        bars.note("a note [with brackets]")
        bars.started(CELL)
        bars.ended(CELL, 1, "12 s", 24.0)
    said = screen.getvalue()
    assert "a note [with brackets]" in said
    assert "[1/2] toy [x] / twin / gandalf / 1 / seed 0: 12 s" in said


def test_who_is_told_depends_on_the_place(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(display(1), Bars)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert isinstance(display(1), Lines)
    quiet = display(1, shown=False)
    assert type(quiet) is Display
    with quiet:
        quiet.note("x")
        quiet.started(CELL)
        quiet.ended(CELL, 1, "x", None)
    assert capsys.readouterr().err == ""
