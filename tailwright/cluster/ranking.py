"""`ranked_on`: the ranking that `evaluate` measures, by pieces of the rows; metrics come from all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
from scipy import sparse

from tailwright.cluster.labeller import RunFolders
from tailwright.data.dataset import Dataset
from tailwright.evaluation.ranking import TopK
from tailwright.runs import Ensemble, Run
from tailwright.runs.ensemble import ROWS_A_BLOCK
from tailwright.runs.evaluation import KS, depth_for
from tailwright.runs.hub import folder_of
from tailwright.training.executor import Executor, executing_on
from tailwright.training.row_pieces import RowRange, over_rows


@dataclass(frozen=True, eq=False)
class RankingWork:
    """What every worker is to know: the runs, all rows, and how many labels are ranked how."""

    opens: RunFolders
    texts: pa.LargeStringArray
    excluded: sparse.csr_array
    depth: int
    tail: float


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
    pieces = [RowRange(first, min(first + ROWS_A_BLOCK, rows)) for first in range(0, rows, ROWS_A_BLOCK)]
    with executing_on(executor):
        return TopK.concat(over_rows(rank_piece, work, pieces, "ranking"))


def rank_piece(work: RankingWork, piece: RowRange) -> list[TopK]:
    """The ranking of some rows."""
    texts = work.texts.slice(piece.first, len(piece))
    excluded = work.excluded[piece.first : piece.last]
    return [_opened(work.opens).top(texts, work.depth, excluded, work.tail)]


@lru_cache(maxsize=1)
def _opened(folders: RunFolders) -> Run | Ensemble:
    """The runs, loaded once in each worker process."""
    return folders()
