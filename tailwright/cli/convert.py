"""`tailwright data convert`: any supported format in, any other out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import tailwright as tw
from tailwright.cli.inspect import odd_things
from tailwright.cli.options import Seed, command
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading


@command
def convert(
    out: Output,
    read: Reading,
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A corpus in any format that can be read, or any table.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
    to: Annotated[
        str,
        typer.Option(
            "--format",
            help="jsonl, jsonl.gz, jsonl.zst, csv, tsv, parquet, xc (sparse labels + raw text), xc-json, "
            "texts-labels or fasttext.",
        ),
    ] = "jsonl.gz",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it is there.")] = False,
    seed: Seed = 0,
) -> None:
    """Read a corpus and write it in another format.

    jsonl, csv, tsv and parquet keep everything: soft targets, weights, ignored and excluded pairs, origin.
    The other formats say on stderr what they cannot carry. OUT is written whole or not at all.

    Example: `tailwright data convert data/ data-xc/ --format xc`

    Example: `tailwright data convert shop.xlsx shop/ --text title,description --labels tags --format csv`
    """
    from tailwright.data.write import check_format

    check_format(to)
    corpus = read.all_rows(source, seed)
    for phrase in odd_things(tw.inspect(corpus)):
        out.note(f"kept as it is: {phrase}")
    report = tw.write(corpus, target, format=to, overwrite=overwrite)
    if report.lost:
        out.note(f"the format {report.format} cannot carry: {', '.join(report.lost)}")
    rows = {name: len(split) for name, split in corpus.splits().items()}
    counted = ", ".join(f"{name} {count:,}" for name, count in rows.items())
    out.text(f"wrote {target} as {report.format}: {counted} rows, {len(corpus.labels):,} labels")
    out.next("data", "inspect", str(target))
    out.result(
        path=str(target),
        format=report.format,
        files=list(report.files),
        rows=rows,
        labels=len(corpus.labels),
        lost=list(report.lost),
    )
