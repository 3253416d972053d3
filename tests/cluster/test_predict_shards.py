"""`predict --on ray`: the rows and predictions of `predict` in one process, as shards."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from troubled_runs import Killed

import tailwright as tw
from tailwright.cli import run as command
from tailwright.cluster.connection import Cluster
from tailwright.cluster.input_shards import TextColumns, survey
from tailwright.cluster.labeller import Labelling
from tailwright.cluster.labelling_pipeline import Pipeline
from tailwright.cluster.remote_pipeline import Pipelines
from tailwright.cluster.row_digest import digest_of, summed
from tailwright.cluster.shard_blocks import raise_problem
from tailwright.cluster.shard_folder import ShardFolder, ShardRecord
from tailwright.runs.predicting import Request
from tailwright.training.executor import InProcess


def table_in(folder: Path) -> pa.Table:
    """All rows of a folder of shards, after it is checked against its manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    tables = []
    for shard in manifest["shards"]:
        content = (folder / shard["name"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == shard["sha256"]
        assert shard["first_row"] == sum(map(len, tables))
        tables.append(pyarrow.parquet.read_table(folder / shard["name"]))
        assert len(tables[-1]) == shard["rows"]
    found = pa.concat_tables(tables)
    assert len(found) == manifest["rows"]
    assert summed([digest_of(found)]) == manifest["digest"]
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json",
        *(shard["name"] for shard in manifest["shards"]),
    }
    return found


def test_shards_hold_what_one_process_predicts(cluster, two_runs, tmp_path, capsys):
    asked = ["predict", str(two_runs / "run"), "--input", str(two_runs / "rows.jsonl"), "--k", "3"]
    asked += ["--tail", "0.3", "--abstain", "0.1", "--not", "3", "--quiet"]
    assert command([*asked, "--out", str(tmp_path / "one.parquet")]) == 0
    out = tmp_path / "shards"
    on = ["--on", "ray", "--workers", "2", "--shard-rows", "25"]
    capsys.readouterr()
    assert command([*asked, "--out", str(out), *on, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["texts"], result["shards"], result["workers"]) == (121, 5, 2)
    one = pyarrow.parquet.read_table(tmp_path / "one.parquet")
    assert table_in(out).equals(one)
    assert result["labelled"] == sum(map(bool, one["labels"].to_pylist()))
    assert result["abstained"] == sum(one["abstained"].to_pylist())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.parquet", "shards"]
    assert command([*asked, "--out", str(out), *on]) == 2
    assert "shards: exists already, expected a new folder" in capsys.readouterr().err


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_only_the_shard_under_way(cluster, two_runs, tmp_path):
    inputs = survey(two_runs / "rows.jsonl", TextColumns(), 20, InProcess())
    folder = ShardFolder(tmp_path / "out", ".jsonl")
    folder.path.mkdir()
    folder.make()
    marks = tmp_path / "marks"
    marks.mkdir()
    run = tw.load(two_runs / "run")
    request = Request.of(run, 2, 0.0, None, None, None, None)
    text = "zzyzx"  # of the last row
    work = Labelling(Killed(two_runs / "run", text, marks), request, folder)
    with Pipelines() as pipelines:
        lines = list(
            pipelines.lines(lambda: Pipeline(work, inputs, frozenset(range(inputs.count)), Cluster(2, 1)))
        )
    for line in lines:
        raise_problem(line)
    records = sorted((ShardRecord.decode(line) for line in lines), key=lambda record: record.number)
    assert [record.number for record in records] == list(range(7))
    assert (marks / "0").exists()
    rows = [
        json.loads(line)
        for record in records
        for line in (folder.shards / record.name).read_text().splitlines()
    ]
    said = run.predict([row["text"] for row in rows], k=2)
    assert [row["names"] for row in rows] == said.names
    assert rows[-1]["text"] == text


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--workers", "2"], "--workers without --on, expected --on ray, or --on ray://HOST:PORT"),
        (["--resume"], "--resume without --on"),
        (["--format", "jsonl"], "--format without --on"),
        (["--shard-rows", "9"], "--shard-rows without --on"),
        (["--on", "spark"], "--on 'spark', expected ray, for this machine, or ray://HOST:PORT"),
        (["--on", "ray"], "--on without rows, expected --input with a file or a folder"),
        (["--on", "ray", "--input", "ROWS"], "--on without a place for shards, expected --out FOLDER"),
        (["--on", "ray", "a text"], "--on with texts as arguments"),
        (
            ["--on", "ray", "--input", "ROWS", "--out", "said", "--format", "csv"],
            "--format 'csv', expected one of parquet, jsonl",
        ),
    ],
)
def test_options_that_do_not_go_together_are_one_line(two_runs, tmp_path, monkeypatch, capsys, options, line):
    monkeypatch.chdir(tmp_path)
    given = [str(two_runs / "rows.jsonl") if option == "ROWS" else option for option in options]
    assert command(["predict", str(two_runs / "run"), *given, "--quiet"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert line in printed.err
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_in_the_rows_is_one_line_and_leaves_nothing(cluster, two_runs, tmp_path, capsys):
    (tmp_path / "rows.jsonl").write_text('{"text": "a"}\n{"text": \n')
    out = tmp_path / "said"
    asked = ["predict", str(two_runs / "run"), "--input", str(tmp_path / "rows.jsonl"), "--out", str(out)]
    assert command([*asked, "--on", "ray", "--quiet"]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert "rows.jsonl:2:" in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
