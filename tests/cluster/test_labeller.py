"""A worker's part of a prediction, without a cluster: what it writes, and what it says of trouble."""

from __future__ import annotations

from dataclasses import replace

import pyarrow.parquet
import pytest
from troubled_runs import Greedy

import tailwright as tw
from tailwright.cluster.input_shards import TextColumns, survey
from tailwright.cluster.labeller import Labeller, Labelling, RunFolders
from tailwright.cluster.row_digest import digest_of, summed
from tailwright.cluster.shard_blocks import SUMMARY, raise_problem, read_shards
from tailwright.cluster.shard_folder import ShardFolder, ShardRecord
from tailwright.errors import TailwrightError
from tailwright.runs.predicting import Request
from tailwright.training.executor import InProcess


@pytest.fixture
def work(two_runs, tmp_path) -> Labelling:
    run = tw.load(two_runs / "run")
    folder = ShardFolder(tmp_path / "out", ".parquet")
    folder.path.mkdir()
    folder.make()
    request = Request.of(run, k=3, tail=0.0, threshold=None, only=None, without=None, abstain=None)
    return Labelling(RunFolders((str(two_runs / "run"),)), request, folder)


def lines_of(work: Labelling, two_runs, shard_rows: int) -> list[str]:
    inputs = survey(two_runs / "rows.jsonl", TextColumns(), shard_rows, InProcess())
    labeller = Labeller(work)
    return [
        line
        for block in read_shards(pyarrow.table({"file": [0]}), inputs, frozenset(range(inputs.count)))
        for line in labeller(block)[SUMMARY].to_pylist()
    ]


def records_of(lines: list[str]) -> list[ShardRecord]:
    for line in lines:
        raise_problem(line)
    return [ShardRecord.decode(line) for line in lines]


def test_shards_hold_what_one_file_would_and_their_digest_does_not_depend_on_the_cut(work, two_runs):
    digests = set()
    for shard_rows in (50, 512):
        records = records_of(lines_of(work, two_runs, shard_rows))
        tables = [pyarrow.parquet.read_table(work.folder.shards / record.name) for record in records]
        found = pyarrow.concat_tables(tables)
        said = tw.load(two_runs / "run").predict(found["text"].combine_chunks(), k=3)
        assert found["names"].to_pylist() == said.names
        assert found["scores"].to_pylist() == [pytest.approx(row, abs=0, rel=0) for row in said.scores]
        assert sum(record.labelled for record in records) == sum(map(bool, said.ids))
        digests.add(summed(int(record.digest, 16) for record in records))
        assert digests == {summed([digest_of(found)])}
    assert work.folder.finished().keys() >= {0}
    assert not list(work.folder.under_way.iterdir())


def test_a_batch_that_takes_too_much_memory_is_halved_once(work, two_runs):
    undisturbed = records_of(lines_of(work, two_runs, 100))
    greedy = replace(work, opens=Greedy(two_runs / "run", 256))
    assert records_of(lines_of(greedy, two_runs, 512))
    halved = replace(work, opens=Greedy(two_runs / "run", 32), batch=64)
    assert records_of(lines_of(halved, two_runs, 100)) == undisturbed


def test_memory_that_runs_out_twice_is_reported_with_the_rows(work, two_runs):
    greedy = replace(work, opens=Greedy(two_runs / "run", 15), batch=32)
    _, second, *_ = lines_of(greedy, two_runs, 40)
    with pytest.raises(
        TailwrightError, match=r"^rows 40 to 79: a worker ran out of memory twice, .* half the"
    ):
        raise_problem(second)
    assert work.folder.finished().keys() == {3}  # one row is left for the last shard


def test_a_shard_that_loses_its_worker_over_and_over_gets_half_the_batch_and_then_a_line(work, two_runs):
    greedy = replace(work, opens=Greedy(two_runs / "run", 16), batch=32)
    for _ in range(2):  # workers that were killed leave such marks
        work.folder.tried(0)
    assert records_of(lines_of(greedy, two_runs, 40)[:1])[0].rows == 40
    for _ in range(3):
        work.folder.tried(1)
    _, second, *_ = lines_of(greedy, two_runs, 40)
    with pytest.raises(
        TailwrightError, match=r"^rows 40 to 79: 3 workers were lost, the last time with half"
    ):
        raise_problem(second)


def test_a_damaged_disk_is_one_line(work, two_runs):
    work.folder.under_way.rmdir()
    first, *_ = lines_of(work, two_runs, 40)
    with pytest.raises(TailwrightError, match="under-way: cannot be written"):
        raise_problem(first)
