"""`tailwright predict`: the best labels of texts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tailwright.cli.options import Debug, Json, Quiet, Threads, set_threads
from tailwright.cli.output import Output


def predict(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    texts: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts to label.")] = None,
    source: Annotated[
        Path | None, typer.Option("--input", help="A file with a text on each line; - for standard input.")
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many labels for each text.")] = 5,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Label ids, names and scores, best first.

    Example: `tailwright predict run/ "wireless headphones with microphone" --k 3`
    """
    set_threads(threads)
    out = Output(as_json, quiet)

    import tailwright as tw
    from tailwright.errors import InputError

    given = [*(texts or []), *(lines_of(source) if source is not None else [])]
    if not given:
        raise InputError("found no text", expected="texts as arguments, or --input FILE")
    said = tw.load(folder).predict(given, k=k)
    rows = []
    for text, ids, names, scores in zip(given, said.ids, said.names, said.scores, strict=True):
        out.text(text)
        cells = [
            [f"  {score:.4f}", label, name] for label, name, score in zip(ids, names, scores, strict=True)
        ]
        out.text("\n".join("  ".join(row) for row in cells) if cells else "  nothing fits")
        rows.append({"text": text, "ids": ids, "names": names, "scores": scores})
    out.result({"run": str(folder), "k": k, "predictions": rows})


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
