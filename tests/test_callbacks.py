"""Callbacks are told of a training and change nothing of it; TensorBoard and MLflow get its curves."""

from __future__ import annotations

import json
import logging
import struct
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import tailwright as tw
from tailwright.callbacks import Callbacks, MLflow, TensorBoard
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data import Corpus
from tailwright.errors import InputError, MissingExtraError
from tailwright.models.popularity import Popularity
from tailwright.runs.unfinished import partial_of

QUICK = {"width": 16, "epochs": 2, "batch": 32, "negatives": 4}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    whole = tiny_corpus()
    train, test = whole.train.split(0.25)
    return Corpus(train, whole.labels, test=test)


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory) -> SimpleNamespace:
    """A twin that is watched: its events, its folder, and what TensorBoard was left with."""
    folder, events = tmp_path_factory.mktemp("watched"), []
    told = [events.append, TensorBoard(folder / "curves")]
    run = tw.train(
        corpus, "twin", settings=QUICK, out=folder / "run", watch={"test": corpus.test}, callbacks=told
    )
    return SimpleNamespace(run=run, events=events, folder=folder)


def test_callbacks_change_neither_weights_nor_facts(corpus, trained, tmp_path):
    def meddler(event):
        event.clear()
        np.random.default_rng(0).normal()

    plain = tw.train(corpus, "twin", settings=QUICK, out=tmp_path / "plain")
    meddled = tw.train(corpus, "twin", settings=QUICK, out=tmp_path / "meddled", callbacks=[meddler])
    texts = corpus.train.texts
    for other in (meddled, trained.run):
        np.testing.assert_array_equal(
            plain.model.predict(texts, 5).scores, other.model.predict(texts, 5).scores
        )
    manifests = [
        json.loads((folder / "manifest.json").read_text())["files"]
        for folder in (tmp_path / "plain", tmp_path / "meddled", trained.folder / "run")
    ]
    weights = [{name: files[name] for name in files if name.startswith("model/")} for files in manifests]
    assert weights[0] == weights[1] == weights[2]


def test_what_is_told_is_what_is_logged_between_both_ends(trained):
    first, *between, last = trained.events
    assert (first["event"], first["model"], first["settings"]["width"]) == ("training", "twin", 16)
    assert last["event"] == "finished"
    lines = (trained.folder / "run" / "log.jsonl").read_text().splitlines()
    assert between == [json.loads(line) for line in lines]
    epochs = [event for event in between if event["event"] == "epoch"]
    assert [event["epoch"] for event in epochs] == [1, 2]
    assert all(event["loss"] > 0 and event["watched"]["test"] >= 0 for event in epochs)
    ends = [event for event in between if event["event"] == "end"]
    assert all(event["seconds"] >= 0 and event["peak_rss_mb"] > 1 for event in ends)


def test_the_last_metrics_are_those_of_the_test_rows(corpus, trained):
    (told,) = [event for event in trained.events if event["event"] == "metrics"]
    assert (told["of"], told["rows"]) == ("test", len(corpus.test))
    assert told["metrics"] == tw.evaluate(trained.run, corpus.test) == trained.run.measured.evaluated()


def test_without_a_folder_callbacks_are_told_all_the_same(corpus):
    events = []
    tw.train(corpus, "popularity", callbacks=[events.append])
    assert [event["event"] for event in events] == [
        "training",
        "start",
        "memory",
        "end",
        "metrics",
        "finished",
    ]


def test_a_callback_that_raises_is_left_out_with_one_warning(corpus, tmp_path, caplog):
    calls, events = [], []

    def broken(event):
        calls.append(event)
        raise RuntimeError("no\nconnection")

    with caplog.at_level(logging.WARNING):
        tw.train(corpus, "popularity", out=tmp_path / "run", callbacks=[broken, events.append])
    assert len(calls) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "training goes on without the callback broken: RuntimeError: no connection"
    ]
    assert events[-1]["event"] == "finished"
    assert tw.load(tmp_path / "run").measured is not None


def test_a_training_that_fails_says_so_and_goes_on_with_other_callbacks(corpus, tmp_path, monkeypatch):
    """What listens is no part of what a resumed training must have in common with the one before."""
    events, fit = [], Popularity.fit

    def dying_fit(self, corpus, *, seed=0, work=None):
        work.checkpoint(lambda folder: folder.array("step", np.array(7)), now=True)
        raise RuntimeError("killed")

    monkeypatch.setattr(Popularity, "fit", dying_fit)
    with pytest.raises(RuntimeError, match="killed"):
        tw.train(corpus, "popularity", out=tmp_path / "run", callbacks=[events.append])
    assert (events[-1]["event"], events[-1]["problem"]) == ("failed", "RuntimeError: killed")
    assert partial_of(tmp_path / "run").exists()
    monkeypatch.setattr(Popularity, "fit", fit)
    tw.train(corpus, "popularity", out=tmp_path / "run", resume=True)
    assert tw.load(tmp_path / "run").train_rows == len(corpus.train)


def test_what_is_no_function_is_refused_before_anything_is_done(corpus, tmp_path):
    with pytest.raises(InputError, match="found the callback 'tensorboard', expected a function of an event"):
        tw.train(corpus, "popularity", out=tmp_path / "run", callbacks=["tensorboard"])
    assert not list(tmp_path.iterdir())


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """The curves in the files that TensorBoard reads: records of length, checksum, event, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    found: dict[str, list[tuple[int, float]]] = {}
    for file in sorted(folder.iterdir()):
        raw = file.read_bytes()
        while raw:
            (length,) = struct.unpack("<Q", raw[:8])
            event = Event.FromString(raw[12 : 12 + length])
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
            raw = raw[16 + length :]
    return found


def test_tensorboard_has_losses_metrics_seconds_and_memory(trained):
    curves = scalars(trained.folder / "curves")
    epochs = [event for event in trained.events if event["event"] == "epoch"]
    phase = epochs[0]["phase"]
    expected = [(event["epoch"], pytest.approx(event["loss"])) for event in epochs]
    assert curves[f"{phase}/loss"] == expected
    assert [step for step, _ in curves[f"{phase}/watched/test"]] == [1, 2]
    assert {f"{phase}/epoch_seconds", "fit/phase_seconds", "fit/peak_rss_mb"} <= curves.keys()
    metrics = trained.run.measured.evaluated()
    assert curves["test/P_at_1"] == [(0, pytest.approx(metrics["P@1"]))]
    assert curves["test/torso/PSP_at_5"] == [(0, pytest.approx(metrics["slices"]["torso"]["PSP@5"]))]


@pytest.fixture
def mlflow(monkeypatch) -> SimpleNamespace:
    """A stand-in for MLflow that keeps what it is told; mlflow-skinny is too heavy for the tests."""
    kept = SimpleNamespace(params={}, metrics={}, ended=[], experiments={}, answers=True)

    class MlflowError(Exception):
        pass

    class Client:
        def get_experiment_by_name(self, name):
            if not kept.answers:
                raise MlflowError("no answer from\nthe server")
            return kept.experiments.get(name)

        def create_experiment(self, name):
            kept.experiments[name] = SimpleNamespace(experiment_id="7")
            return "7"

        def create_run(self, experiment_id, run_name):
            assert experiment_id == "7"
            kept.name = run_name
            return SimpleNamespace(info=SimpleNamespace(run_id="r"))

        def log_param(self, run_id, key, value):
            assert run_id == "r"
            kept.params[key] = value

        def log_metric(self, run_id, key, value, timestamp, step):
            assert run_id == "r"
            assert timestamp > 1e12
            kept.metrics.setdefault(key, []).append((step, value))

        def set_terminated(self, run_id, status):
            kept.ended.append((run_id, status))

    modules = {name: ModuleType(name) for name in ("mlflow", "mlflow.tracking", "mlflow.exceptions")}
    modules["mlflow"].__spec__ = SimpleNamespace()
    modules["mlflow.tracking"].MlflowClient = Client
    modules["mlflow.exceptions"].MlflowException = MlflowError
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return kept


def test_mlflow_has_parameters_curves_and_the_end(trained, mlflow):
    callback = MLflow(experiment="tags")
    assert mlflow.experiments == {}
    Callbacks([callback]).tell(json.dumps(trained.events[0]))
    for event in trained.events[1:]:
        callback(event)
    assert list(mlflow.experiments) == ["tags"]
    assert (mlflow.name, mlflow.params["model"], mlflow.params["settings/width"]) == ("twin", "twin", 16)
    assert mlflow.metrics["test/P_at_1"] == [(0, trained.run.measured.metrics["P@1"])]
    assert any(name.endswith("/loss") and len(points) == 2 for name, points in mlflow.metrics.items())
    assert mlflow.ended == [("r", "FINISHED")]


def test_an_mlflow_server_that_does_not_answer_is_one_line_before_anything_is_read(mlflow, tmp_path, capsys):
    mlflow.answers = False
    assert run(["train", "no-data", "--out", str(tmp_path / "run"), "--log-to", "mlflow:tags"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "MLflow cannot be used (no answer from the server), expected MLFLOW_TRACKING_URI" in line


@pytest.mark.parametrize(
    ("place", "library", "extra"),
    [("tensorboard:logs", "tensorboardX", "tensorboard"), ("mlflow", "mlflow", "mlflow")],
)
def test_a_missing_extra_is_one_line_before_anything_is_read(place, library, extra, monkeypatch, capsys):
    monkeypatch.setattr(
        "tailwright.errors.find_spec", lambda name: None if name == library else SimpleNamespace()
    )
    assert run(["train", "no-data", "--out", "run", "--log-to", place]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"pip install 'tailwright[{extra}]'" in line
    with pytest.raises(MissingExtraError):
        TensorBoard("logs") if extra == "tensorboard" else MLflow()


@pytest.mark.parametrize("place", ["tensorboard", "tensorboard:", "wandb:x", "mlflow:", ""])
def test_a_place_that_cannot_be_logged_to_is_refused(place, capsys):
    assert run(["train", "no-data", "--out", "run", "--log-to", place]) == 2
    assert (
        f"--log-to {place!r}, expected tensorboard:DIR, mlflow or mlflow:EXPERIMENT"
        in capsys.readouterr().err
    )


def test_the_command_logs_to_several_places(corpus, mlflow, tmp_path, capsys):
    tw.write(corpus, tmp_path / "data", format="jsonl")
    places = ["--log-to", f"tensorboard:{tmp_path / 'curves'}", "--log-to", "mlflow"]
    options = ["--model", "popularity", "--augment", "none", "--json", "-q"]
    assert run(["train", str(tmp_path / "data"), "--out", str(tmp_path / "run"), *options, *places]) == 0
    said = json.loads(capsys.readouterr().out)["metrics"]
    assert mlflow.metrics["test/P_at_1"] == [(0, said["P@1"])]
    assert scalars(tmp_path / "curves")["test/P_at_1"] == [(0, pytest.approx(said["P@1"]))]
    assert list(mlflow.experiments) == ["tailwright"]
