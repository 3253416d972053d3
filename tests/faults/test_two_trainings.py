"""Two trainings of one run: the second is refused at once, and nothing of the first is lost or mixed."""

from __future__ import annotations

import os
import re
import shutil
import socket

import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run as command
from tailwright.errors import InputError
from tailwright.runs.unfinished import finish, partial_of
from tailwright.store.holding import holding

QUICK = {"linear": {"trees": 1}, "twin": {"width": 8, "epochs": 1}}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    place = tmp_path_factory.mktemp("corpus") / "data"
    tw.write(tiny_corpus(), place)
    return place


def killed_after_saving(out, monkeypatch):
    """A training of popularity that ends when its run is saved, before its work folder is removed."""
    with monkeypatch.context() as patch:
        patch.setattr("tailwright.runs.training.finish", lambda out: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            tw.train(tiny_corpus(), "popularity", out=out)
    assert partial_of(out).is_dir()


def test_a_second_training_is_told_who_works_on_the_run_and_leaves_it_alone(tmp_path):
    out, refusals = tmp_path / "run", []

    def start_another(event):
        if event["event"] == "start" and not refusals:
            with pytest.raises(InputError) as refused:
                tw.train(tiny_corpus(), "popularity", seed=2, out=out, overwrite=True)
            refusals.append(str(refused.value))

    run = tw.train(tiny_corpus(), "linear+twin", settings=QUICK, seed=1, out=out, callbacks=[start_another])
    who = (
        rf"process {os.getpid()} on {re.escape(socket.gethostname())} since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d"
    )
    assert re.match(rf"{re.escape(str(partial_of(out)))}: in use by {who}", refusals[0])
    assert (tw.load(out).seed, tw.load(out).name) == (run.seed, "linear+twin")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_command_says_it_in_one_line_with_exit_code_2(tmp_path, data, capsys):
    with holding(partial_of(tmp_path / "run")):
        options = ["--model", "popularity", "--augment", "none", "--quiet", "--overwrite"]
        assert command(["train", str(data), "--out", str(tmp_path / "run"), *options]) == 2
    assert re.fullmatch(r"tailwright: .*run\.partial: in use by process \d+ on .*\n", capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


def test_a_lock_file_of_a_dead_process_means_nothing(tmp_path):
    (tmp_path / ".run.partial.lock").write_text("process 1 on elsewhere since 1999-12-31 23:59:59")
    tw.train(tiny_corpus(), "popularity", out=tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_parts_of_an_unknown_training_are_not_taken(tmp_path):
    out = tmp_path / "run"
    (partial_of(out) / "linear" / "finished").mkdir(parents=True)
    with pytest.raises(InputError, match=r"run.partial: has no asked.json, .*, expected --overwrite"):
        tw.train(tiny_corpus(), "popularity", out=out, resume=True)
    tw.train(tiny_corpus(), "popularity", out=out, overwrite=True)
    assert not partial_of(out).exists()


def test_a_finished_part_with_another_hash_is_refused(tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("tailwright.models.fusion.model.Fusion._loaded", _killed)
        with pytest.raises(KeyboardInterrupt):
            tw.train(tiny_corpus(), "linear+twin", settings=QUICK, out=out)
    weights = next((partial_of(out) / "twin" / "finished").rglob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(
        InputError, match=rf"{re.escape(str(weights))}: sha256 .*, expected .* as in the manifest"
    ):
        tw.train(tiny_corpus(), "linear+twin", settings=QUICK, out=out, resume=True)


def _killed(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_training_killed_after_it_was_saved_is_finished(tmp_path, monkeypatch, caplog):
    killed_after_saving(tmp_path / "run", monkeypatch)
    saved = (tmp_path / "run" / "manifest.json").read_bytes()
    run = tw.train(tiny_corpus(), "popularity", out=tmp_path / "run", resume=True)
    assert "run is finished already; nothing is trained" in caplog.text
    assert (run.name, (tmp_path / "run" / "manifest.json").read_bytes()) == ("popularity", saved)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run" / "log.jsonl").is_file()


def test_a_finished_run_is_evaluated_and_reported_when_it_is_resumed(tmp_path, data, capsys):
    corpus = tw.read(data).split(0.2, seed=0)
    splits = {"train": corpus.train, "test": corpus.valid}
    folder = tmp_path / "data"
    tw.write(tw.Corpus.of_splits(corpus.labels, splits), folder)
    words = ["train", str(folder), "--out", str(tmp_path / "run"), "--model", "popularity", "--json"]
    assert command([*words, "--augment", "none"]) == 0
    first = capsys.readouterr().out
    assert command([*words, "--augment", "none", "--resume"]) == 0
    again = capsys.readouterr().out
    assert '"P@1"' in again
    assert _metrics(again) == _metrics(first)


def _metrics(line: str) -> str:
    return line[line.index('"metrics"') :]


def test_another_training_does_not_pass_for_the_saved_one(tmp_path, monkeypatch):
    killed_after_saving(tmp_path / "run", monkeypatch)
    for other in ({"seed": 1}, {"augment": ["gandalf"]}):
        with pytest.raises(InputError, match="exists already"):
            tw.train(tiny_corpus(), "popularity", out=tmp_path / "run", resume=True, **other)
    with pytest.raises(InputError, match="exists already"):
        tw.train(tiny_corpus(80), "popularity", out=tmp_path / "run", resume=True)
    finish(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")


def test_a_continued_run_that_was_saved_is_finished_too(tmp_path, caplog):
    more = tiny_corpus(40, seed=1)
    before = tw.train(tiny_corpus(), "twin", settings=QUICK["twin"], out=tmp_path / "before")
    tw.continued(before, more, out=tmp_path / "after")
    again = tw.continued(before, more, out=tmp_path / "after", resume=True)
    assert "finished already" in caplog.text
    assert len(again.later) == 1
    with pytest.raises(InputError, match="exists already"):
        tw.continued(before, tiny_corpus(40, seed=2), out=tmp_path / "after", resume=True)
