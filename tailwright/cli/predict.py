"""`tailwright predict`: the best labels of texts, by one run or by several together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tailwright.cli.options import command
from tailwright.cli.output import Output
from tailwright.cli.several_runs import loaded, named, split_runs


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
        Path | None, typer.Option("--input", help="A file with a text on each line; - for standard input.")
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many labels for each text.")] = 5,
) -> None:
    """Label ids, names and scores, best first.

    Several runs over the same labels answer together: their scores are added. A run is a folder with a
    `manifest.json`; a text that is also the name of such a folder can be given by `--input`.

    Example: `tailwright predict run/ "wireless headphones with microphone" --k 3`

    Example: `tailwright predict run1/ run2/ run3/ --input titles.txt`
    """
    from tailwright.errors import InputError

    folders, texts = split_runs(arguments)
    if source is not None:
        texts += lines_of(source)
    if not texts:
        raise InputError("found no text", expected="texts as arguments, or --input FILE")
    best = loaded(folders).predict(texts, k=k)
    rows = []
    for text, ids, names, scores in zip(texts, best.ids, best.names, best.scores, strict=True):
        out.text(text)
        cells = [
            [f"  {score:.4f}", label, name] for label, name, score in zip(ids, names, scores, strict=True)
        ]
        out.text("\n".join("  ".join(row) for row in cells) if cells else "  nothing fits")
        rows.append({"text": text, "ids": ids, "names": names, "scores": scores})
    out.result({**named(folders), "k": k, "predictions": rows})


def lines_of(source: Path) -> list[str]:
    """The lines of a file, or of standard input."""
    from tailwright.errors import InputError

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
