"""`tailwright predict`: the best labels of texts, by one run or by several together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tailwright.cli.evaluate import dialled, loaded, named
from tailwright.cli.options import TailOption, command
from tailwright.cli.output import Output
from tailwright.cli.reading import ColumnOfId, ColumnsOfText
from tailwright.errors import InputError


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
            "--input", help="A table, or a file with a text on each line; - for lines of standard input."
        ),
    ] = None,
    columns: ColumnsOfText = "",
    key: ColumnOfId = "",
    k: Annotated[int, typer.Option("--k", min=1, help="How many labels for each text.")] = 5,
    tail: TailOption = "0",
) -> None:
    """Label ids, names and scores, best first; the scores of a run with held-out rows are probabilities.

    `--tail` puts rare labels first; scores stay what they are.

    Several runs over the same labels answer together: their scores are added. A run is a folder with a
    `manifest.json`; a text that is also the name of such a folder can be given by `--input`.

    Example: `tailwright predict run/ "wireless headphones with microphone" --k 3`

    Example: `tailwright predict run/ "wireless headphones with microphone" --tail 0.5`

    Example: `tailwright predict run1/ run2/ run3/ --input titles.txt`

    Example: `tailwright predict run/ --input new.csv --text title,description --id sku --json`
    """
    from tailwright.runs.tail import can_dial

    folders, texts = split_runs(arguments)
    asked = again(texts, source, columns, key)
    keys: list[str] | None = None
    if source is not None and is_table(source):
        from tailwright.data.read import read_texts

        read = read_texts(source, text=columns, id=key)
        for note in read.notes:
            out.note(note)
        if read.ids is not None:
            keys = [""] * len(texts) + read.ids.to_pylist()
        texts += read.texts.to_pylist()
    elif source is not None:
        texts += lines_of(source)
    if not texts:
        raise InputError("found no text", expected="texts as arguments, or --input FILE")
    run = loaded(folders)
    wanted = dialled(out, run, tail)
    best = run.predict(texts, k=k, tail=wanted)
    rows = []
    for row, (text, ids, names, scores) in enumerate(
        zip(texts, best.ids, best.names, best.scores, strict=True)
    ):
        own = {} if keys is None else {"id": keys[row]}
        out.text(f"{own['id']}  {text}" if own else text)
        for label, name, score in zip(ids, names, scores, strict=True):
            out.text(f"  {score:.4f}  {label}  {name}")
        if not ids:
            out.text("  nothing fits")
        rows.append({**own, "text": text, "ids": ids, "names": names, "scores": scores})
    if asked and not wanted and can_dial(run):
        out.next("predict", *map(str, folders), *asked, "--tail", "0.5")
    out.result(**named(folders), k=k, tail=wanted, predictions=rows)


def again(texts: Sequence[str], source: Path | None, columns: str, key: str) -> list[str]:
    """The words that ask about the first of these texts, or else about a file, once more."""
    if texts:
        return [] if texts[0].startswith("-") else [texts[0]]
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


def is_table(source: Path) -> bool:
    """Whether a file has columns, by its suffix; others have a text on each line."""
    from tailwright.data.formats.options import SQLITE, ReadOptions
    from tailwright.data.formats.row_files import ROW_SUFFIXES, suffix_of

    place, _ = ReadOptions().of_path(str(source))
    return place.startswith(SQLITE) or suffix_of(Path(place)) in ROW_SUFFIXES


def _is_run(argument: str) -> bool:
    try:
        return (Path(argument) / "manifest.json").is_file()
    except (OSError, ValueError):  # a text may be longer than a path can be
        return False


def lines_of(source: Path) -> list[str]:
    """The lines of a file, or of standard input."""
    try:
        raw = sys.stdin.buffer.read() if str(source) == "-" else source.read_bytes()
        return raw.decode().splitlines()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=source) from error
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            "found bytes that are not UTF-8", expected="UTF-8", path=source, line=line
        ) from error
