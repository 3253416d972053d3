"""`Labeller`: an actor that holds a loaded run, labels shards, writes each and says so in a line.

A worker that runs out of memory tries a shard once more with half the batch. So does the third worker if two
were lost over the same shard: the system ends processes that take too much, and says nothing. Whatever goes
wrong is told to the driver in words, as an error of Ray Data says more of Ray than of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tailwright.cluster.input_shards import RowShard
from tailwright.cluster.row_digest import digest_of, summed
from tailwright.cluster.shard_blocks import SUMMARY, problem_line, shard_in
from tailwright.cluster.shard_folder import ShardFolder, ShardRecord
from tailwright.data.formats.jsonl import write_objects
from tailwright.data.text_source import ROWS_A_BLOCK, TextBlock
from tailwright.errors import TailwrightError, is_memory
from tailwright.runs import Ensemble, Run, load
from tailwright.runs.predicting import Request
from tailwright.runs.prediction_files import Form, Labelled, write_tables

LOST_WORKERS = 2  # over a shard, before its batch is halved; one may be lost for any reason
_HALVED = (
    "the last time with half the batch; a machine needs less memory with fewer --workers, and each of them "
    "less with --threads 1"
)
PARQUET, JSONL = ".parquet", ".jsonl"


@dataclass(frozen=True)
class RunFolders:
    """Run folders that answer together; called, it loads them."""

    paths: tuple[str, ...]

    def __call__(self) -> Run | Ensemble:
        # Mapped: the workers of a machine share the memory of large arrays.
        runs = tuple(load(path, mapped=True) for path in self.paths)
        return runs[0] if len(runs) == 1 else Ensemble(runs)


@dataclass(frozen=True)
class Labelling:
    """What every worker is to know: who opens the run, the request, where shards go, rows of a batch."""

    opens: Callable[[], Run | Ensemble]
    request: Request
    folder: ShardFolder
    batch: int = ROWS_A_BLOCK  # that of `predict` in one process: some models round by the batch


class Labeller:
    """Loads the run once."""

    def __init__(self, work: Labelling) -> None:
        self.work = work
        self.run = work.opens()
        self.form = Form(self.run.labels)

    def __call__(self, block: pa.Table) -> pa.Table:
        """A line for each shard of a block, after it is written."""
        return pa.table({SUMMARY: [self._line(shard_in(block, row)) for row in range(len(block))]})

    def _line(self, shard: RowShard | str) -> str:
        if isinstance(shard, str):
            return shard
        try:
            record = self.labelled(shard)
        except Exception as error:
            return problem_line(error)
        return record.encode()

    def labelled(self, shard: RowShard) -> ShardRecord:
        """Label the rows of a shard and write them."""
        folder, half = self.work.folder, max(1, self.work.batch // 2)
        lost = folder.tried(shard.number)
        if lost > LOST_WORKERS:
            raise TailwrightError(f"{_rows(shard)}: {lost} workers were lost, {_HALVED}")
        batches = (half,) if lost == LOST_WORKERS else (self.work.batch, half)
        for batch in batches:
            try:
                record = self._written(shard, batch)
            except Exception as error:  # noqa: PERF203 (once for each shard)
                if not is_memory(error):
                    raise
            else:
                folder.note(record)
                folder.ended(shard.number)
                return record
        raise TailwrightError(f"{_rows(shard)}: a worker ran out of memory twice, {_HALVED}")

    def _written(self, shard: RowShard, batch: int) -> ShardRecord:
        said = [self._said(shard.block, start, batch) for start in range(0, len(shard.block.texts), batch)]
        tables = [self.form.table(labelled) for labelled in said]

        def write(path: Path) -> None:
            if path.suffix == PARQUET:
                write_tables(path, iter(tables))
            else:
                write_objects(path, (row for labelled in said for row in self.form.rows(labelled)))

        size, sha256 = self.work.folder.put(shard.number, write)
        starts = range(shard.first_row, shard.first_row + len(shard.block.texts), batch)
        digest = summed(digest_of(table, start) for table, start in zip(tables, starts, strict=True))
        return ShardRecord(
            shard.number,
            self.work.folder.name_of(shard.number),
            shard.first_row,
            len(shard.block.texts),
            labelled=sum(bool(ids) for labelled in said for ids in labelled.said.ids),
            abstained=sum(sum(labelled.said.abstained or []) for labelled in said),
            bytes=size,
            sha256=sha256,
            digest=digest,
        )

    def _said(self, block: TextBlock, start: int, batch: int) -> Labelled:
        texts = block.texts.slice(start, batch)
        ids = None if block.ids is None else block.ids.slice(start, batch)
        return Labelled(TextBlock(texts, ids), self.work.request.answer(self.run, texts))


def _rows(shard: RowShard) -> str:
    return f"rows {shard.first_row:,} to {shard.first_row + len(shard.block.texts) - 1:,}"
