"""`ranked_on`: the ranking that `evaluate` measures, by pieces of the rows; metrics come from all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from scipy import sparse

from tailwright.cluster.labeller import RunFolders
from tailwright.data.dataset import Dataset
from tailwright.errors import TailwrightError, is_memory
from tailwright.evaluation.ranking import TopK
from tailwright.progress import progress
from tailwright.runs import Ensemble, Run
from tailwright.runs.ensemble import ROWS_A_BLOCK
from tailwright.runs.evaluation import KS, depth_for
from tailwright.runs.hub import folder_of
from tailwright.training.executor import Executor


class Piece(NamedTuple):
    """Some rows that follow each other."""

    start: int
    end: int


@dataclass(frozen=True, eq=False)
class RankingWork:
    """What every worker is to know: the runs, all rows, and how many labels are ranked how."""

    opens: RunFolders
    texts: pa.LargeStringArray
    excluded: sparse.csr_array
    depth: int
    tail: float

    def top(self, piece: Piece) -> TopK:
        start, end = piece
        return _opened(self.opens).top(
            self.texts.slice(start, end - start), self.depth, self.excluded[start:end], self.tail
        )


def ranked_on(
    executor: Executor,
    folders: Sequence[Path],
    run: Run | Ensemble,
    data: Dataset,
    ks: Sequence[int] = KS,
    tail: float = 0.0,
) -> TopK:
    """What `tailwright.runs.evaluation.ranked` gives; `run` is what is in the folders."""
    opens = RunFolders(tuple(str(folder_of(folder).absolute()) for folder in folders))
    work = RankingWork(opens, data.texts, data.excluded, depth_for(run, data, ks), tail)
    rows = len(data)
    pieces = [Piece(start, min(start + ROWS_A_BLOCK, rows)) for start in range(0, rows, ROWS_A_BLOCK)]
    found: dict[int, TopK] = {}
    with progress("ranking", rows) as advance:
        for number, top in executor.run(rank_piece, work, pieces):
            found[number] = top
            advance(len(top.ids))
    return TopK.concat([found[number] for number in range(len(pieces))])


def rank_piece(work: RankingWork, piece: Piece) -> TopK:
    """The ranking of some rows; if memory runs out, once more by halves."""
    try:
        return work.top(piece)
    except Exception as error:
        if not is_memory(error):
            raise
    middle = (piece.start + piece.end + 1) // 2
    try:
        return TopK.concat([work.top(Piece(piece.start, middle)), work.top(Piece(middle, piece.end))])
    except Exception as error:
        if not is_memory(error):
            raise
    raise TailwrightError(
        f"rows {piece.start:,} to {piece.end - 1:,}: a worker ran out of memory twice, the last time with "
        "half the batch; a machine needs less memory with fewer --workers"
    )


@lru_cache(maxsize=1)
def _opened(folders: RunFolders) -> Run | Ensemble:
    """The runs, loaded once in each worker process."""
    return folders()
