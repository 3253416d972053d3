"""`tailwright predict --on ray`: rows of files, labelled by workers of a cluster into a folder of shards."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailwright.cli.evaluate import named
from tailwright.cli.failures import going_on
from tailwright.cli.output import Output
from tailwright.errors import InputError

if TYPE_CHECKING:
    from tailwright.runs import Ensemble, Run
    from tailwright.runs.predicting import Request

ShardFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="parquet|jsonl",
        help="With --on: the format of the shards.",
        show_default="parquet",
    ),
]
ShardRows = Annotated[
    int | None,
    typer.Option(
        "--shard-rows", min=1, help="With --on: how many rows a shard has at most.", show_default="8192"
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="With --on: keep the shards that a killed command has finished.")
]


@dataclass(frozen=True)
class OnCluster:
    """The options that go with `--on`."""

    on: str | None
    workers: int | None
    format: str | None
    shard_rows: int | None
    resume: bool

    def check(self, texts: Sequence[str], source: Path | None, out: Path | None) -> None:
        """An InputError for options that do not go together; nothing is loaded for it."""
        if self.on is None:
            given = {
                "--workers": self.workers,
                "--format": self.format,
                "--shard-rows": self.shard_rows,
                "--resume": self.resume or None,
            }
            for option, value in given.items():
                if value is not None:
                    raise InputError(f"{option} without --on", expected="--on ray, or --on ray://HOST:PORT")
            return
        from tailwright.cluster.connection import check_address

        check_address(self.on)
        if texts:
            raise InputError("--on with texts as arguments", expected="--input with a file or a folder")
        if source is None:
            raise InputError("--on without rows", expected="--input with a file or a folder")
        if out is None:
            raise InputError("--on without a place for shards", expected="--out FOLDER")


def predict_on_cluster(
    out: Output,
    folders: Sequence[Path],
    run: Run | Ensemble,
    request: Request,
    source: Path,
    columns: tuple[str, str],
    out_folder: Path,
    asked: OnCluster,
    threads: int | None,
    overwrite: bool,
) -> None:
    """Label the rows, and say what was written; Ctrl-C says how to go on."""
    from tailwright.cluster.connection import connected
    from tailwright.cluster.input_shards import TextColumns
    from tailwright.cluster.predicting import SHARD_ROWS, ShardedRequest, predict_shards
    from tailwright.runs.unfinished import partial_of
    from tailwright.store.placing import refuse_unless_free

    sharded = ShardedRequest(
        tuple(folders),
        request,
        source,
        out_folder,
        TextColumns(*columns),
        format=asked.format or "parquet",
        shard_rows=asked.shard_rows or SHARD_ROWS,
        resume=asked.resume,
        overwrite=overwrite,
    )
    refuse_unless_free(Path(os.path.realpath(out_folder)), out_folder, overwrite)
    unfinished = partial_of(out_folder)
    with (
        going_on(
            lambda: f"the shards so far are in {unfinished}, and the same command with --resume goes on"
        ),
        connected(asked.on or "", workers=asked.workers, threads=threads) as cluster,
    ):
        written = predict_shards(run, sharded, cluster, note=out.note)
    kept = f", {written.done_before:,} of them done before" if written.done_before else ""
    abstained = "" if request.abstain is None else f", {written.abstained:,} abstained"
    out.text(
        f"wrote {out_folder}: {written.rows:,} texts in {written.shards:,} shards{kept}, "
        f"{written.labelled:,} with labels{abstained}"
    )
    out.result(
        **named(folders),
        k=request.k,
        tail=request.tail,
        threshold=request.threshold,
        abstain=request.abstain,
        calibrated=run.is_calibrated,
        texts=written.rows,
        labelled=written.labelled,
        abstained=written.abstained,
        shards=written.shards,
        shards_done_before=written.done_before,
        digest=written.digest,
        workers=cluster.workers,
        out=str(out_folder),
    )
