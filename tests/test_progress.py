"""Progress goes to stderr, plain when that is no terminal, and is silent unless asked for."""

from __future__ import annotations

import pytest

from tailwright import progress


@pytest.fixture
def shown(monkeypatch):
    progress.show(True)
    yield
    progress.show(False)


def test_the_library_is_silent(capsys):
    with progress.progress("reading", 10) as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


def test_lines_without_a_terminal(capsys, shown, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(progress, "SECONDS_WORTH_A_LINE", 0.0)
    with progress.progress("matching", 3) as advance:
        for _ in range(3):
            advance(1)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith("matching: 1 of 3, ")
    assert lines[0].endswith(" s left")
    assert lines[-1].startswith("matching: 3 rows in ")


def test_a_bar_in_a_terminal(capsys, shown, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.progress("matching", 3) as advance:
        advance(3)
    assert capsys.readouterr().out == ""


def test_a_task_is_shown_with_the_stage_that_it_belongs_to(capsys, shown, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_WORTH_A_LINE", 0.0)
    with progress.stage("f0"), progress.progress("matching", 3) as advance:
        advance(3)
    with progress.progress("matching", 3) as advance:
        advance(3)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" 3 rows")[0] for line in lines] == ["f0: matching:", "matching:"]


def test_work_that_is_done_at_once_says_nothing(capsys, shown):
    with progress.progress("matching", 3) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_parts_of_work_with_a_bar_of_its_own_are_silent(capsys, shown, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_WORTH_A_LINE", 0.0)
    with progress.progress("predicting", 3) as advance:
        with progress.silent(), progress.progress("twin", 3) as own:
            own(3)
        advance(3)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" 3 rows")[0] for line in lines] == ["predicting:"]
