"""A workplace logs phases and keeps the newest checkpoint."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tailwright.training.workplace import Workplace


def test_phases_are_logged_with_seconds_and_memory(tmp_path):
    work = Workplace(tmp_path / "run")
    with work.phase("surrogate", rows=3):
        work.log("epoch", loss=0.5)
    start, epoch, end = map(json.loads, (tmp_path / "run" / "log.jsonl").read_text().splitlines())
    assert (start["event"], start["phase"], start["rows"]) == ("start", "surrogate", 3)
    assert (epoch["event"], epoch["loss"]) == ("epoch", 0.5)
    assert end["event"] == "end"
    assert isinstance(end["seconds"], float)
    assert end["peak_rss_mb"] > 1


def test_a_checkpoint_replaces_the_one_before_and_is_restored(tmp_path):
    work = Workplace(tmp_path, checkpoint_seconds=0)
    for step in range(3):
        work.checkpoint(lambda folder, step=step: folder.array("step", np.array(step)))
    assert Workplace(tmp_path).restore() is None
    restored = Workplace(tmp_path, resume=True).restore()
    assert restored is not None
    assert int(restored.array("step")) == 2


def test_checkpoints_wait_for_their_time_unless_told_now(tmp_path):
    work = Workplace(tmp_path, checkpoint_seconds=3600)
    work.checkpoint(lambda folder: folder.array("step", np.array(1)))
    assert Workplace(tmp_path, resume=True).restore() is None
    work.checkpoint(lambda folder: folder.array("step", np.array(1)), now=True)
    assert Workplace(tmp_path, resume=True).restore() is not None


def test_a_checkpoint_that_took_long_to_write_is_left_to_be_older(tmp_path, monkeypatch):
    now, written = [0.0], []
    monkeypatch.setattr("tailwright.training.workplace.time.monotonic", lambda: now[0])
    work = Workplace(tmp_path, checkpoint_seconds=60)

    def save(folder):
        folder.array("step", np.array(len(written)))
        written.append(now[0])
        now[0] += 12  # seconds that it takes

    for _ in range(1000):
        work.checkpoint(save)
        now[0] += 1
    assert written == [60, 312, 564, 816]


def test_without_a_folder_nothing_is_kept():
    work = Workplace(resume=True)
    with work.phase("quick"):
        work.checkpoint(lambda folder: folder.json("x.json", 1), now=True)
    assert work.restore() is None


def test_a_part_has_checkpoints_of_its_own_and_logs_to_the_same_file(tmp_path):
    work = Workplace(tmp_path, checkpoint_seconds=0)
    for name, step in (("linear", 1), ("twin", 2)):
        part = work.sub(name)
        with part.phase(f"{name} fit"):
            part.checkpoint(lambda folder, step=step: folder.array("step", np.array(step)))
    assert work.restore() is None
    again = Workplace(tmp_path, resume=True)
    assert again.restore() is None
    restored = [again.sub(name).restore() for name in ("linear", "twin")]
    assert [int(folder.array("step")) for folder in restored] == [1, 2]
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [e["phase"] for e in events if e["event"] == "end"] == ["linear fit", "twin fit"]
    assert [path.name for path in tmp_path.rglob("log.jsonl")] == ["log.jsonl"]


def test_a_part_of_a_part_logs_to_the_same_file(tmp_path):
    Workplace(tmp_path).sub("a").sub("b").log("here")
    assert json.loads((tmp_path / "log.jsonl").read_text())["event"] == "here"
    assert (tmp_path / "a" / "b").is_dir()


def test_without_a_folder_a_part_has_none():
    part = Workplace(resume=True).sub("linear")
    with part.phase("quick"):
        part.checkpoint(lambda folder: folder.json("x.json", 1), now=True)
    assert (part.folder, part.restore()) == (None, None)


def test_a_negative_time_is_refused():
    with pytest.raises(ValueError, match="checkpoint_seconds must be >= 0, got -1"):
        Workplace(checkpoint_seconds=-1)
