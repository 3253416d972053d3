"""`linear` and fusions trained by the workers of a cluster: the same runs as without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from run_digests import KillsAWorker, Stops, arrays_of, events_of

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run as command
from tailwright.cluster.tasks import RayTasks
from tailwright.cluster.training import comes_in_pieces
from tailwright.data import Corpus
from tailwright.training.executor import executing_on

LINEAR = {"trees": 2, "cluster_size": 2, "branching": 3}
# Rows are few, so that there are two folds and parts that learn from all rows.
FUSION = "linear+twin+label-matcher"
QUICK = {"twin.width": 8, "twin.epochs": 2, "linear.cluster_size": 3}


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch):
    """A level of a tree over the ten labels is cut into three."""
    monkeypatch.setattr("tailwright.training.tree_shards.LABELS_A_SHARD", 3)


@pytest.fixture(scope="module")
def linear_alone(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("alone") / "linear"
    tw.train(tiny_corpus(), "linear", settings=LINEAR, seed=3, out=out)
    return out


@pytest.fixture(scope="module")
def fusion_alone(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("alone") / "fusion"
    tw.train(tiny_corpus(400), FUSION, augment=["labelmix"], settings=QUICK, seed=3, out=out)
    return out


@pytest.mark.parametrize("workers", [1, 2])
def test_linear_in_shards_is_the_same_run(cluster, linear_alone, tmp_path, workers):
    with executing_on(RayTasks(replace(cluster, workers=workers))):
        tw.train(tiny_corpus(), "linear", settings=LINEAR, seed=3, out=tmp_path / "run")
    assert arrays_of(tmp_path / "run") == arrays_of(linear_alone)
    assert len(arrays_of(linear_alone)) > 8
    [trees] = [e for e in events_of(tmp_path / "run" / "log.jsonl", "start") if e["phase"] == "trees"]
    assert trees["trees"] == 2
    assert trees["shards"] > 2 * 3  # more than one a level


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_fusion_whose_parts_are_tasks_is_the_same_run(cluster, fusion_alone, tmp_path, workers):
    with executing_on(RayTasks(replace(cluster, workers=workers))):
        tw.train(tiny_corpus(400), FUSION, augment=["labelmix"], settings=QUICK, seed=3, out=tmp_path / "run")
    assert arrays_of(tmp_path / "run") == arrays_of(fusion_alone)
    log = tmp_path / "run" / "log.jsonl"
    [parts] = [e for e in events_of(log, "start") if e["phase"] == "parts"]
    assert parts["parts"] == 9  # three, in two folds and on all rows
    curves = [
        sorted(e["loss"] for e in events_of(place, "epoch")) for place in (log, fusion_alone / "log.jsonl")
    ]
    assert curves[0] == curves[1]


@pytest.mark.slow
def test_without_a_folder_the_predictions_are_the_same(cluster, fusion_alone):
    with executing_on(RayTasks(cluster)):
        run = tw.train(tiny_corpus(400), FUSION, augment=["labelmix"], settings=QUICK, seed=3)
    mine, theirs = (r.model.predict(["apple harbour", "old jacket"], 8) for r in (run, tw.load(fusion_alone)))
    np.testing.assert_array_equal(mine.ids, theirs.ids)
    np.testing.assert_array_equal(mine.scores, theirs.scores)


def test_a_worker_killed_inside_a_tree_changes_nothing(cluster, linear_alone, tmp_path):
    with executing_on(KillsAWorker(RayTasks(cluster), tmp_path, piece=1)):
        tw.train(tiny_corpus(), "linear", settings=LINEAR, seed=3, out=tmp_path / "run")
    assert {path.name for path in tmp_path.iterdir()} == {"grown_label_tree", "solve_shard", "run"}
    assert arrays_of(tmp_path / "run") == arrays_of(linear_alone)


def test_a_driver_that_was_stopped_goes_on_with_the_shards_that_are_missing(cluster, linear_alone, tmp_path):
    out = tmp_path / "run"

    def trained(resume: bool) -> None:
        tw.train(tiny_corpus(), "linear", settings=LINEAR, seed=3, out=out, resume=resume)

    with executing_on(Stops(RayTasks(cluster), lambda done: done == 2 + 4)), pytest.raises(KeyboardInterrupt):
        trained(resume=False)
    with executing_on(RayTasks(cluster)):
        trained(resume=True)
    assert arrays_of(out) == arrays_of(linear_alone)
    starts = [event for event in events_of(out / "log.jsonl", "start") if event["phase"] == "trees"]
    assert [event["kept"] for event in starts] == [0, 4]
    assert sorted(event["number"] for event in events_of(out / "log.jsonl", "tree")) == [0, 1]


def test_a_finished_tree_is_not_grown_again(cluster, linear_alone, tmp_path):
    out = tmp_path / "run"
    partial = out.with_name("run.partial")
    stopping = Stops(RayTasks(cluster), lambda _: any(partial.glob("tree-*/finished")))
    with executing_on(stopping), pytest.raises(KeyboardInterrupt):
        tw.train(tiny_corpus(), "linear", settings=LINEAR, seed=3, out=out)
    tw.train(tiny_corpus(), "linear", settings=LINEAR, seed=3, out=out, resume=True)  # without a cluster
    assert arrays_of(out) == arrays_of(linear_alone)
    grown = [event["number"] for event in events_of(out / "log.jsonl", "tree")]
    again = [e["number"] for e in events_of(out / "log.jsonl", "start") if e["phase"] == "tree"]
    assert (len(grown), sorted(grown + again)) == (1, [0, 1])


@pytest.mark.slow
def test_parts_that_were_fitted_before_the_driver_was_stopped_are_kept(cluster, fusion_alone, tmp_path):
    out, asked = tmp_path / "run", {"augment": ["labelmix"], "settings": QUICK, "seed": 3}
    with executing_on(Stops(RayTasks(cluster), lambda done: done == 5)), pytest.raises(KeyboardInterrupt):
        tw.train(tiny_corpus(400), FUSION, out=out, **asked)
    with executing_on(RayTasks(cluster)):
        tw.train(tiny_corpus(400), FUSION, out=out, resume=True, **asked)
    assert arrays_of(out) == arrays_of(fusion_alone)
    starts = [event for event in events_of(out / "log.jsonl", "start") if event["phase"] == "parts"]
    assert [event["kept"] for event in starts] == [0, 5]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    folder = tmp_path_factory.mktemp("data") / "tiny"
    tw.write(Corpus(train, corpus.labels, test=test), folder, format="jsonl")
    return folder


def test_the_command_gives_the_same_run_on_a_cluster(cluster, tiny, tmp_path, caplog):
    asked = ["train", str(tiny), "--model", "linear", "--augment", "none", "--set", "cluster_size=3"]
    assert command([*asked, "--out", str(tmp_path / "alone")]) == 0
    assert command([*asked, "--out", str(tmp_path / "run"), "--on", "ray", "--workers", "2"]) == 0
    assert not caplog.records
    assert arrays_of(tmp_path / "run") == arrays_of(tmp_path / "alone")


def test_a_model_that_a_cluster_does_not_help_says_so_in_one_line(cluster, tiny, tmp_path, caplog):
    asked = ["train", str(tiny), "--model", "twin", "--augment", "none", "--set", "width=8"]
    assert command([*asked, "--set", "epochs=1", "--out", str(tmp_path / "run"), "--on", "ray"]) == 0
    alone = "twin is trained by this process alone: on a cluster it would be no quicker"
    assert [record.getMessage() for record in caplog.records].count(alone) == 1


@pytest.mark.parametrize(
    ("model", "pieces"),
    [("linear", True), (FUSION, True), ("linear+astec", True), ("twin", False), ("popularity", False)],
)
def test_which_models_come_in_pieces(model, pieces):
    assert comes_in_pieces(model) is pieces


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--workers", "2"], "--workers without --on, expected --on ray"),
        (["--on", "spark"], "--on 'spark', expected ray, for this machine, or ray://HOST:PORT"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(tiny, tmp_path, capsys, options, line):
    assert command(["train", str(tiny), "--out", str(tmp_path / "run"), "--model", "linear", *options]) == 2
    assert line in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
