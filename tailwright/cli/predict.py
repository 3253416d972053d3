"""`tailwright predict`: the best labels of texts, by one run or by several together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailwright.cli.evaluate import dialled, loaded, named
from tailwright.cli.options import On, OnWorkers, TailOption, command
from tailwright.cli.output import Output
from tailwright.cli.predict_shards import OnCluster, Resume, ShardFormat, ShardRows, predict_on_cluster
from tailwright.cli.reading import ColumnOfId, ColumnsOfText
from tailwright.errors import InputError
from tailwright.progress import Advance, progress, silent

if TYPE_CHECKING:
    from tailwright.data.text_source import TextBlock, TextSource
    from tailwright.runs import Ensemble, Run
    from tailwright.runs.predicting import Request
    from tailwright.runs.prediction_files import Labelled


@command
def predict(
    out: Output,
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... [TEXT]...",
            help="A run folder, or several; then texts to label, from the first that is no run folder on.",
        ),
    ],
    source: Annotated[
        Path | None,
        typer.Option(
            "--input",
            help="A table, or a file with a text on each line; - for lines of standard input; with --on also "
            "a folder of such files.",
        ),
    ] = None,
    columns: ColumnsOfText = "",
    key: ColumnOfId = "",
    out_file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE|FOLDER",
            help="Write a table: .csv, .tsv, .jsonl (or with .gz, .zst) or .parquet; with --on a folder of "
            "shards.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file or folder of --out.")
    ] = False,
    k: Annotated[int, typer.Option("--k", min=1, help="How many labels for each text.")] = 5,
    tail: TailOption = "0",
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", metavar="P", help="Labels with at least this probability.", show_default=False
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="A,B|FILE",
            help="Rank these labels alone: ids or names, or a file with one on each line, or a labels table.",
            show_default=False,
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--not", metavar="A,B|FILE", help="Leave these labels out.", show_default=False),
    ] = None,
    abstain: Annotated[
        float | None,
        typer.Option(
            "--abstain",
            metavar="[P]",
            help="Say which texts get no labels as nothing is known of them, or no label has probability P.",
            show_default=False,
        ),
    ] = None,
    on: On = None,
    workers: OnWorkers = None,
    shard_format: ShardFormat = None,
    shard_rows: ShardRows = None,
    resume: Resume = False,
    threads: int | None = None,
) -> None:
    """Label ids, names and probabilities, best first; a text of which nothing is known gets no labels.

    `--tail` puts rare labels first; scores stay what they are. The scores of a model that gives no
    probabilities are its own.

    Several runs over the same labels answer together, by the mean of their probabilities. A run is a folder
    with a `manifest.json`; a text that is also the name of such a folder can be given by `--input`.

    With `--on`, workers of a Ray cluster label the rows of --input, whatever their number, and write a folder
    of shards with a `manifest.json`; what a killed command has done is in FOLDER.partial. Paths must be on
    storage that this machine and all nodes of the cluster see by the same name.

    Example: `tailwright predict run/ "wireless headphones with microphone" --k 3 --threshold 0.2`

    Example: `tailwright predict run/ "wireless headphones with microphone" --tail 0.5 --not sale,new`

    Example: `tailwright predict run1/ run2/ run3/ --input titles.txt`

    Example: `tailwright predict run/ --input new.csv --text title,description --id sku --out labelled.csv`

    Example: `tailwright predict run/ --input rows/ --out labelled/ --on ray --workers 2`
    """
    from tailwright.data.text_source import text_source
    from tailwright.runs.label_lists import listed_labels
    from tailwright.runs.predicting import Request
    from tailwright.runs.prediction_files import refuse_table, write_predictions
    from tailwright.runs.tail import can_dial
    from tailwright.study.page.html import refuse_unwritable

    folders, texts = split_runs(arguments)
    asked_of = OnCluster(on, workers, shard_format, shard_rows, resume)
    asked_of.check(texts, source, out_file)
    if out_file is not None and on is None:
        refuse_table(out_file, overwrite)
        refuse_unwritable(out_file)
    elif overwrite and out_file is None:
        raise InputError("--overwrite without a file", expected="--out FILE")
    if source is None and (columns or key):
        raise InputError("--text or --id without a table", expected="--input FILE")
    run = loaded(folders)
    request = Request.of(
        run,
        k=k,
        tail=dialled(out, run, tail),
        threshold=threshold,
        only=None if only is None else listed_labels(only, run.labels),
        without=None if without is None else listed_labels(without, run.labels),
        abstain=abstain,
    )
    relies = bool(threshold or abstain or out_file) and not request.tail  # with a tail it has been said
    if relies and run.gives_probabilities and not run.is_calibrated:
        out.note(
            f"{run.name} was trained without held-out rows (a valid split): "
            "its probabilities are not calibrated"
        )
    if on is not None and source is not None and out_file is not None:
        predict_on_cluster(
            out, folders, run, request, source, (columns, key), out_file, asked_of, threads, overwrite
        )
        return
    with ExitStack() as stack:
        read = None
        if source is not None:
            read = stack.enter_context(text_source(source, text=columns, id=key))
            for note in read.notes:
                out.note(note)
        rows = len(texts) + (0 if read is None else read.rows)
        if not rows:
            raise InputError("found no text", expected="texts as arguments, or --input FILE")
        answers = Answers(run, request)
        result: dict[str, Any] = {
            **named(folders),
            "k": k,
            "tail": request.tail,
            "threshold": threshold,
            "abstain": abstain,
            "calibrated": run.is_calibrated,
        }
        if out_file is not None:
            with progress("predicting", rows) as advance:
                write_predictions(out_file, answers.to(all_blocks(texts, read), advance), run.labels)
            counts = {"texts": rows, "labelled": answers.labelled, "abstained": answers.abstained}
            abstained = "" if abstain is None else f", {answers.abstained:,} abstained"
            out.text(f"wrote {out_file}: {rows:,} texts, {answers.labelled:,} with labels{abstained}")
            out.next("data", "inspect", str(out_file))
            out.result(**result, **counts, out=str(out_file))
        elif out.as_json:
            with progress("predicting", rows) as advance:
                blocks = answers.to(all_blocks(texts, read), advance)
                predictions = [row for block in blocks for row in json_rows(block)]
            out.result(**result, predictions=predictions)
        else:
            for block in answers.to(all_blocks(texts, read)):
                show(out, block)
            asked = again(texts, source, columns, key)
            if asked and not request.tail and can_dial(run):
                out.next("predict", *map(str, folders), *asked, "--tail", "0.5")
            elif asked and texts and len(folders) == 1:
                out.next("explain", str(folders[0]), asked[0])


@dataclass
class Answers:
    """What a run says to a request, block by block, and how many texts got labels so far."""

    run: Run | Ensemble
    request: Request
    labelled: int = 0
    abstained: int = 0

    def to(self, blocks: Iterable[TextBlock], advance: Advance = lambda rows: None) -> Iterator[Labelled]:
        """The blocks with their labels; `advance` is told of each that has been used."""
        from tailwright.runs.prediction_files import Labelled

        for block in blocks:
            with silent():
                said = self.request.answer(self.run, block.texts)
            self.labelled += sum(map(bool, said.ids))
            self.abstained += sum(said.abstained or [])
            yield Labelled(block, said)
            advance(len(said))


def all_blocks(texts: Sequence[str], read: TextSource | None) -> Iterator[TextBlock]:
    """The texts of the command line, which have no ids, and those of the file."""
    from tailwright.data.dataset import arrow_strings, no_strings
    from tailwright.data.text_source import TextBlock

    if texts:
        has_ids = read is not None and read.has_ids
        yield TextBlock(arrow_strings(texts), no_strings(len(texts)) if has_ids else None)
    if read is not None:
        yield from read.blocks()


def json_rows(labelled: Labelled) -> Iterator[dict[str, Any]]:
    """The rows of a block as `--json` has them."""
    (texts, ids), said = labelled
    for row, one in enumerate(said):
        own = {} if ids is None else {"id": ids[row].as_py()}
        yield {**own, "text": texts[row].as_py(), **one.as_dict()}


def show(out: Output, labelled: Labelled) -> None:
    """Print the rows of a block for people."""
    for row in json_rows(labelled):
        out.text(f"{row['id']}  {row['text']}" if "id" in row else row["text"])
        for label, name, score in zip(row["ids"], row["names"], row["scores"], strict=True):
            out.text(f"  {score:.4f}  {label}  {name}")
        if not row["ids"]:
            out.text("  abstained" if row.get("abstained") else "  nothing fits")


def again(texts: Sequence[str], source: Path | None, columns: str, key: str) -> list[str]:
    """The words that ask about the first of these texts, or else about a file, once more."""
    if texts:
        return [texts[0]] if texts[0].isprintable() and not texts[0].startswith("-") else []
    if source is None or str(source) == "-":
        return []
    named = [*(["--text", columns] if columns else []), *(["--id", key] if key else [])]
    return ["--input", str(source), *named]


def split_runs(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The runs that the arguments begin with, and the texts after them; the first is a run in any case."""
    count = 1
    while count < len(arguments) and _is_run(arguments[count]):
        count += 1
    return [Path(argument) for argument in arguments[:count]], list(arguments[count:])


def _is_run(argument: str) -> bool:
    try:
        return (Path(argument) / "manifest.json").is_file()
    except (OSError, ValueError):  # a text may be longer than a path can be
        return False
