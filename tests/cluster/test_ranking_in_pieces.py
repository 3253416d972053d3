"""`evaluate --on ray`: the numbers of `evaluate` in one process."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run as command
from tailwright.cluster import ranking
from tailwright.cluster.ranking import ranked_on
from tailwright.cluster.tasks import RayTasks
from tailwright.data.pairs import pairs_from_lists
from tailwright.runs import Ensemble
from tailwright.runs.evaluation import ranked
from tailwright.training.executor import InProcess


def test_a_ranking_in_pieces_is_that_of_one_process(cluster, two_runs, monkeypatch):
    monkeypatch.setattr(ranking, "ROWS_A_BLOCK", 25)
    folders = [two_runs / "run", two_runs / "other"]
    run = Ensemble(tuple(map(tw.load, folders)))
    rows = tiny_corpus().train
    barred = pairs_from_lists([[row % 5] if row % 3 else [] for row in range(len(rows))], rows.labels)
    rows = replace(rows, excluded=barred)
    expected = ranked(run, rows, tail=0.25)
    for executor in (InProcess(), RayTasks(cluster)):
        found = ranked_on(executor, folders, run, rows, tail=0.25)
        assert np.array_equal(found.ids, expected.ids)
        assert np.array_equal(found.scores, expected.scores)


def test_the_command_prints_the_same_numbers(cluster, two_runs, tmp_path, capsys):
    corpus = tmp_path / "corpus"
    tw.write(tiny_corpus(), corpus)
    asked = ["evaluate", str(two_runs / "run"), str(corpus), "--split", "train", "--quiet", "--json"]
    found = []
    for on in ([], ["--on", "ray", "--workers", "2"]):
        assert command([*asked, *on]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


def test_workers_without_a_cluster_are_one_line(two_runs, tmp_path, capsys):
    assert command(["evaluate", str(two_runs / "run"), str(tmp_path), "--workers", "2"]) == 2
    assert "--workers without --on, expected --on ray" in capsys.readouterr().err
