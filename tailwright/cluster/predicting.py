"""`predict_shards`: the labels of any number of rows, by workers of a cluster, as a folder of shards.

The rows, their order and the predictions are those of `predict` in one process. A driver that was killed goes
on with the shards that are not done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailwright.cluster.connection import Cluster
from tailwright.cluster.input_shards import InputShards, TextColumns, survey
from tailwright.cluster.labeller import JSONL, PARQUET, Labelling, RunFolders
from tailwright.cluster.labelling_pipeline import Pipeline
from tailwright.cluster.remote_pipeline import Pipelines
from tailwright.cluster.row_digest import summed
from tailwright.cluster.shard_blocks import raise_problem
from tailwright.cluster.shard_folder import ShardFolder, ShardRecord
from tailwright.cluster.tasks import RayTasks
from tailwright.errors import InputError, TailwrightError, quoted
from tailwright.progress import progress
from tailwright.runs import Ensemble, Run
from tailwright.runs.hub import folder_of
from tailwright.runs.predicting import Request
from tailwright.runs.run import library_versions
from tailwright.runs.unfinished import make_place
from tailwright.store.holding import holding
from tailwright.store.manifest import MANIFEST

FORMATS = {"parquet": PARQUET, "jsonl": JSONL}
SHARD_ROWS = 8192
_SENSED = TextColumns()  # the columns are sensed, file by file


@dataclass(frozen=True)
class ShardedPredictions:
    """What was written: `digest` is that of all rows in order, however they are cut into shards."""

    out: Path
    rows: int
    labelled: int
    abstained: int
    shards: int
    done_before: int  # shards that an earlier, killed driver had done
    digest: str


@dataclass(frozen=True)
class ShardedRequest:
    """What is to be labelled and how, and where it goes; paths must be the same on all nodes."""

    runs: tuple[Path, ...]
    request: Request
    input: Path
    out: Path
    columns: TextColumns = _SENSED
    format: str = "parquet"
    shard_rows: int = SHARD_ROWS
    resume: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise InputError(f"--format {quoted(self.format)}", expected=f"one of {', '.join(FORMATS)}")
        if self.shard_rows < 1:
            raise InputError(f"--shard-rows {self.shard_rows}", expected="a whole number from 1")


def predict_shards(
    run: Run | Ensemble,
    asked: ShardedRequest,
    cluster: Cluster,
    *,
    note: Callable[[str], None] = lambda line: None,
) -> ShardedPredictions:
    """Label all rows and write the folder `asked.out`, whole or not at all.

    `run` is what is in the folders `asked.runs`. What is done when the driver is killed is in `OUT.partial`,
    and `resume` goes on from there. `note` is told what reading has to say.
    """
    with Pipelines() as pipelines:  # it starts while rows are counted
        inputs = survey(asked.input, asked.columns, asked.shard_rows, RayTasks(cluster))
        for line in inputs.notes:
            note(line)
        return _written(run, asked, inputs, cluster, pipelines)


def _written(
    run: Run | Ensemble, asked: ShardedRequest, inputs: InputShards, cluster: Cluster, pipelines: Pipelines
) -> ShardedPredictions:
    """The folder of shards."""
    folder = ShardFolder(asked.out.absolute(), FORMATS[asked.format])
    folders = tuple(folder_of(path).absolute() for path in asked.runs)
    facts = _facts(run, folders, asked, inputs)
    with holding(folder.path):
        make_place(
            folder.out, {**facts, "files": inputs.asked()}, asked.resume, asked.overwrite, "prediction"
        )
        folder.make()
        done = folder.finished()
        before = len(done)
        work = Labelling(RunFolders(tuple(map(str, folders))), asked.request, folder)
        try:
            with progress("predicting", inputs.rows) as advance:
                advance(sum(record.rows for record in done.values()))
                for record in _labelled(pipelines, work, inputs, done, cluster):
                    done[record.number] = record
                    advance(record.rows)
        except InputError:
            folder.remove_unless_begun()
            raise
        records = [done[number] for number in range(inputs.count)]
        counts = {
            "rows": inputs.rows,
            "labelled": sum(record.labelled for record in records),
            "abstained": sum(record.abstained for record in records),
        }
        digest = summed(int(record.digest, 16) for record in records)
        folder.finish(records, {**counts, **facts, "digest": digest}, asked.overwrite)
    return ShardedPredictions(asked.out, **counts, shards=len(records), done_before=before, digest=digest)


def _labelled(
    pipelines: Pipelines,
    work: Labelling,
    inputs: InputShards,
    done: Mapping[int, ShardRecord],
    cluster: Cluster,
) -> Iterator[ShardRecord]:
    """Records of all shards that are not done, as they come."""
    left = set(range(inputs.count)) - done.keys()
    if not left:
        return
    for line in pipelines.lines(lambda: Pipeline(work, inputs, frozenset(left), cluster)):
        raise_problem(line)
        record = ShardRecord.decode(line)
        if record.number in left:  # Ray may do a shard twice whose node was lost after it was done
            left.remove(record.number)
            yield record
    if left:
        raise TailwrightError(f"the cluster lost {len(left):,} shards; the same with --resume goes on")


def _facts(
    run: Run | Ensemble, folders: tuple[Path, ...], asked: ShardedRequest, inputs: InputShards
) -> dict[str, Any]:
    """What was asked for, as the manifest has it."""
    request = asked.request
    allowed = None if request.allowed is None else hashlib.sha256(request.allowed.tobytes()).hexdigest()
    return {
        "k": request.k,
        "tail": request.tail,
        "threshold": request.threshold,
        "abstain": request.abstain,
        "allowed_sha256": allowed,
        "calibrated": run.is_calibrated,
        "probabilities": run.gives_probabilities,
        "runs": [hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest() for folder in folders],
        "inputs": [{"name": Path(file.path).name, "rows": file.rows} for file in inputs.files],
        "text": inputs.columns.text,
        "id": inputs.columns.id,
        "file_format": asked.format,
        "shard_rows": inputs.shard_rows,
        "versions": library_versions(),
    }
