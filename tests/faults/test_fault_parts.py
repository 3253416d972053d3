"""The parts of `benchmarks/faults.py` do their trials, and tell good outcomes from bad ones."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "data"))  # everyday files, which one part changes

import faults
from fault_parts import Outcome, Trial
from fault_parts.children import Command, Ended
from fault_parts.files import Files
from fault_parts.folders import Folders
from fault_parts.jobs import Job, difference
from fault_parts.mutation import AWKWARD, mutated, mutated_file
from fault_parts.setting_ends import SettingEnds
from fault_parts.sharing import Work, shared

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # from Python 3.12 on


class _Numbers:
    """A part whose trials do as their numbers say: end well, find something, die."""

    name, share, patience = "numbers", 1.0, 60.0

    def count(self, place):
        return 5

    def trial(self, trial):
        if trial.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if trial.number == 3:
            raise ValueError("three")
        return Outcome(f"number {trial.number}", "good", "bad" if trial.number == 1 else "")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the run of one model."""
    folder = tmp_path_factory.mktemp("faults")
    tw.train(tiny_corpus(), "popularity", out=folder / "runs" / "popularity")
    return folder


def trials(part, place, scratch, numbers):
    for number in numbers:
        folder = scratch / str(number)
        folder.mkdir()
        yield part.trial(Trial(part.name, 0, number, place, folder))


def turned(data, draw):
    """A npy file of float64 with its numbers in the other order."""
    return "turned", data[:128] + b"".join(data[at : at + 8] for at in range(len(data) - 8, 120, -8))


def test_every_trial_of_a_part_is_told_even_one_that_its_process_does_not_survive(tmp_path):
    work = Work(_Numbers(), tmp_path, 0, 0, None)
    told = [(number, outcome) for _, number, outcome in shared([work], 60, 1)]
    work.end()
    assert [number for number, _ in told] == [0, 1, 2, 3, 4]
    assert [outcome.came for _, outcome in told] == ["good", "good", "crashed", "failed", "good"]
    seen = [outcome.problem for _, outcome in told]
    assert seen[:3] == ["", "bad", "ended by SIGKILL"]
    assert "ValueError: three" in seen[3]
    again = faults.failure(work.part, 7, 1, told[1][1])["reproduce"]
    assert again == "python benchmarks/faults.py --part numbers --seed 7 --trial 1"
    assert not list(tmp_path.glob("numbers-*/"))[1:]  # only that of the process that was killed


def test_damaged_folders_are_refused_or_as_good_as_before(place, tmp_path):
    came = list(trials(Folders(), place, tmp_path, range(30)))
    assert not [outcome for outcome in came if outcome.problem]
    assert {"refused", "finite"} <= {outcome.came for outcome in came}


def test_other_predictions_behind_old_hashes_are_a_failure(place, tmp_path, monkeypatch):
    monkeypatch.setattr("tailwright.store.reader._verify", lambda *arguments: None)
    monkeypatch.setattr("fault_parts.folders.mutated", turned)
    problems = {outcome.problem for outcome in trials(Folders(), place, tmp_path, range(0, 240, 3))}
    assert "other predictions, and not a word of it" in problems


def test_bad_files_are_read_or_refused(place, tmp_path):
    came = list(trials(Files(), place, tmp_path, range(60)))
    assert not [outcome for outcome in came if outcome.problem]
    assert {outcome.came for outcome in came} == {"read", "refused"}


def test_settings_are_refused_or_accepted(place, tmp_path):
    part = SettingEnds()
    assert (part.count(place) or 0) > 5000
    came = list(trials(part, place, tmp_path, range(40)))
    assert not [outcome for outcome in came if outcome.problem]
    assert {outcome.came for outcome in came} >= {"refused", "accepted"}


def test_a_command_that_is_killed_or_refused_is_told_apart(tmp_path):
    refused = Command(["models", "no-such-model"], tmp_path / "said").wait_for(60)
    assert refused is not None
    assert refused.code == 2
    assert refused.problem(0, 2) == ""
    assert refused.problem(0).startswith("exit code 2: tailwright: unknown model")
    assert Command(["models"], tmp_path / "said").wait_for(0) is None
    assert Ended(-11, "x").problem(0) == "ended by SIGSEGV: x"
    assert (
        Ended(1, "tailwright: KeyError: 1 (a bug; --debug shows where)").problem(0, 1).startswith("a bug: ")
    )


def test_what_is_left_is_compared_but_for_times(tmp_path):
    job, one, two = Job("a job", (), ()), tmp_path / "one", tmp_path / "two"
    for folder, seconds in ((one, 1.5), (two, 2.5)):
        tw.train(tiny_corpus(), "popularity", out=folder / "run")
        (folder / "run" / "result.json").write_text(f'{{"train_seconds": {seconds}, "metrics": 1}}')
    assert difference(job.content(one), job.content(two)) == ""
    (two / "run" / "result.json").write_text('{"train_seconds": 1, "metrics": 2}')
    (two / "run" / ".left").touch()
    assert difference(job.content(one), job.content(two)) == "too many: run/.left; different: run/result.json"


def test_bytes_are_changed_by_the_number_of_the_trial_alone():
    data = b'{"text": "red shoes", "labels": ["a", "b"]}\n' * 3
    changed = [mutated(data, np.random.default_rng(seed)) for seed in range(200)]
    assert changed == [mutated(data, np.random.default_rng(seed)) for seed in range(200)]
    assert sum(content != data for _, content in changed) > 180
    assert len({what.partition(",")[0] for what, _ in changed}) == 9
    assert mutated(b"", np.random.default_rng(0))[1] in {b"", *AWKWARD}
    assert mutated_file("a.jsonl", data, np.random.default_rng(1))[1] != data
