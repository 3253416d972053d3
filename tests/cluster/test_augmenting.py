"""Rows that a cluster makes and scores: those of one process, with killed workers and with little memory."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import tailwright as tw
from tailwright.augmentation import row_augmenter
from tailwright.augmentation.shared import agreement, edits
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.cluster.connection import Cluster
from tailwright.cluster.tasks import RayTasks
from tailwright.data.corpus import Corpus
from tailwright.errors import TailwrightError
from tailwright.training.executor import executing_on

EVERY_ROW = {"rows": "all", "min_words": 0, "outputs": 2, "share": 0.4}


@pytest.fixture(autouse=True)
def many_pieces(monkeypatch):
    """Tiny corpora come in many pieces, too."""
    monkeypatch.setattr(edits, "FEWEST_ROWS", 7)
    monkeypatch.setattr(agreement, "CELLS", 55)


def corpus_of_rows(rows: int = 90) -> Corpus:
    """Weighted rows with soft targets, ignored and excluded pairs."""
    corpus = tiny_corpus(rows)
    train = corpus.train
    soft = train.targets.copy()
    soft.data = np.linspace(0.1, 1, len(soft.data)).astype(np.float32)
    some = train.targets.copy()
    some.data[::3] = 0
    some.eliminate_zeros()
    marked = replace(
        train,
        targets=soft,
        weights=np.linspace(0.5, 2, rows).astype(np.float32),
        ignored=some,
        excluded=train.targets.astype(bool).astype(np.float32)[:, ::-1],
    )
    return corpus.with_train(marked)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("method", "settings"),
    [("eda", {}), ("eda", {"variant": "original", "same_words": True}), ("wordnet", {"max_rows": 40})],
)
def test_edited_rows_are_those_of_one_process(cluster, method, settings, workers):
    corpus, chosen = corpus_of_rows(), row_augmenter(method, {**EVERY_ROW, **settings})
    here = tw.augment(corpus, chosen, seed=3)
    with executing_on(RayTasks(Cluster(workers, 1))):
        there = tw.augment(corpus, chosen, seed=3)
    assert len(here.train) > 110
    assert here.same_as(there)


def test_a_corpus_without_sources_gets_no_rows(cluster):
    corpus, chosen = tiny_corpus(20), row_augmenter("eda", {"min_words": 100})
    with executing_on(RayTasks(cluster)):
        assert tw.augment(corpus, chosen).same_as(corpus)


def test_rows_of_a_killed_worker_are_made_again(cluster, tmp_path, monkeypatch):
    corpus, chosen = corpus_of_rows(), row_augmenter("eda", EVERY_ROW)
    here = tw.augment(corpus, chosen)
    edited, mark = edits.edited_piece, tmp_path / "killed"

    def killed_once(editing, piece):
        if piece.first >= 24 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return edited(editing, piece)

    monkeypatch.setattr(edits, "edited_piece", killed_once)
    with executing_on(RayTasks(cluster)):
        there = tw.augment(corpus, chosen)
    assert mark.exists()
    assert here.same_as(there)


def test_a_piece_too_large_for_memory_is_done_in_halves(cluster, monkeypatch):
    corpus, chosen = corpus_of_rows(), row_augmenter("eda", EVERY_ROW)
    here = tw.augment(corpus, chosen)
    edited = edits.edited_piece

    def in_little_memory(editing, piece):
        if len(piece) > 8:
            raise MemoryError
        return edited(editing, piece)

    monkeypatch.setattr(edits, "edited_piece", in_little_memory)
    with executing_on(RayTasks(cluster)):
        assert here.same_as(tw.augment(corpus, chosen))


def test_rows_that_are_too_many_in_halves_too_are_named(cluster, monkeypatch):
    def without_memory(editing, piece):
        raise MemoryError

    monkeypatch.setattr(edits, "edited_piece", without_memory)
    with (
        executing_on(RayTasks(cluster)),
        pytest.raises(TailwrightError, match=r"^rows \d+ to \d+: a worker of the cluster ran out of memory"),
    ):
        tw.augment(corpus_of_rows(), row_augmenter("eda", EVERY_ROW))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("settings", [{"act": "weight"}, {"depth": 3, "diversity": "kl_softmax"}])
def test_rows_are_scored_as_in_one_process(cluster, settings, workers):
    corpus = tw.augment(corpus_of_rows(), row_augmenter("eda", EVERY_ROW))
    chosen = row_augmenter("filter", settings)
    here = tw.augment(corpus, chosen, seed=1)
    with executing_on(RayTasks(Cluster(workers, 1))):
        there = tw.augment(corpus, chosen, seed=1)
    assert here.same_as(there)
    assert not here.same_as(corpus)


def test_the_command_writes_the_same_corpus_on_a_cluster(cluster, tmp_path, capsys):
    tw.write(tiny_corpus(60), tmp_path / "data")
    asked = ["augment", str(tmp_path / "data"), "--augment", "eda", "--filter", "--set", "eda.rows=all"]
    asked += ["--seed", "4", "--json"]
    assert run([*asked, "--out", str(tmp_path / "here")]) == 0
    assert "workers" not in json.loads(capsys.readouterr().out)
    assert run([*asked, "--out", str(tmp_path / "there"), "--on", "ray", "--workers", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["on"], told["workers"]) == ("ray", 2)
    assert told["cluster_seconds"] >= 0
    assert tw.read(tmp_path / "here").same_as(tw.read(tmp_path / "there"))


@pytest.mark.parametrize("command", ["augment", "filter"])
def test_workers_without_a_cluster_are_refused(command, tmp_path, capsys):
    asked = [command, str(tmp_path), "--out", str(tmp_path / "out"), "--workers", "2"]
    assert run(asked) == 2
    assert "--workers without --on, expected --on ray" in capsys.readouterr().err
    assert run([*asked[:-2], "--on", "spark"]) == 2
    assert "expected ray, for this machine, or ray://HOST:PORT" in capsys.readouterr().err
