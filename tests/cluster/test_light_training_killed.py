"""A training on a cluster that loses a node, or its driver."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import node_killed
import pytest
from run_digests import arrays_of, events_of

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus


@pytest.mark.slow
def test_a_node_killed_in_the_midst_of_a_tree_changes_nothing(tmp_path):
    settings = {"trees": 3, "cluster_size": 2, "branching": 3}
    tw.train(tiny_corpus(), "linear", settings=settings, seed=3, out=tmp_path / "alone")
    script = [sys.executable, node_killed.__file__, str(tmp_path / "run")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, done.stderr
    assert int(re.findall(r"later: (\d+)", done.stdout)[0]) > 3
    assert arrays_of(tmp_path / "run") == arrays_of(tmp_path / "alone")


@pytest.mark.slow
def test_a_command_that_was_killed_goes_on_with_the_trees_that_are_missing(tmp_path):
    data, out, trees = tmp_path / "data", tmp_path / "run", 60
    tw.write(tiny_corpus(2000), data, format="jsonl")
    asked = ["train", str(data), "--model", "linear", "--augment", "none", "--set", f"trees={trees}"]
    asked = [sys.executable, "-m", "tailwright", *asked, "--set", "cluster_size=2"]
    on_cluster = [*asked, "--out", str(out), "--on", "ray", "--workers", "2"]
    first = subprocess.Popen(on_cluster, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(finished_in(out)) and first.poll() is None:
        time.sleep(0.02)
    first.kill()
    first.wait()
    kept = len(list(finished_in(out)))
    assert 0 < kept < trees
    subprocess.run([*on_cluster, "--resume"], check=True, capture_output=True, timeout=300)
    subprocess.run([*asked, "--out", str(tmp_path / "alone")], check=True, capture_output=True, timeout=300)
    assert arrays_of(out) == arrays_of(tmp_path / "alone")
    starts = [event for event in events_of(out / "log.jsonl", "start") if event["phase"] == "trees"]
    assert [event["trees"] for event in starts] == [trees, trees - kept]


def finished_in(out: Path) -> list[Path]:
    return list(out.with_name("run.partial").glob("tree-*/finished"))
