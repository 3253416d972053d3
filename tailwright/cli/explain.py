"""`tailwright explain`: why a run gives a text its labels."""

from __future__ import annotations

import io
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tailwright as tw
from tailwright.cli.evaluate import dialled
from tailwright.cli.hints import free_name
from tailwright.cli.options import TailOption, command
from tailwright.cli.output import Output
from tailwright.cli.predict import split_runs
from tailwright.errors import InputError

if TYPE_CHECKING:
    from tailwright.runs.explained_text import Line
    from tailwright.runs.explaining import Explanation

HANGING = 2  # columns by which the rest of a long line stands to the right
STYLES = {"plain": "", "title": "bold", "for": "bold green", "against": "red", "unknown": "italic dim"}


@command
def explain(
    out: Output,
    arguments: Annotated[
        list[str], typer.Argument(metavar="RUN TEXT", help="A run folder, and the text to explain.")
    ],
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="LABEL",
            help="A label by id or name, whether it is among the best or not; may be given several times.",
            show_default="the best ones",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many of the best labels.")] = 3,
    tail: TailOption = "0",
    rows: Annotated[
        int,
        typer.Option(
            "--rows", min=0, help="Nearest training rows of each label; 0: the training data are not read."
        ),
    ] = 3,
    page: Annotated[
        Path | None, typer.Option("--out", metavar="PAGE.html", help="Write the same as an HTML page.")
    ] = None,
) -> None:
    """Why a label was given: the words for and against it, the nearest training rows, what each part said.

    The training rows are read where the run was trained, if they are still there unchanged.

    Example: `tailwright explain run/ "wireless headphones with microphone"`

    Example: `tailwright explain run/ "wireless headphones with microphone" --label speakers --out why.html`
    """
    folders, texts = split_runs(arguments)
    if len(folders) > 1:
        raise InputError(
            f"found {len(folders)} runs", expected="one: each run of several has its own reasons"
        )
    if len(texts) != 1:
        raise InputError(f"found {len(texts)} texts", expected="RUN and one TEXT, in quotes")
    (folder,), (text,) = folders, texts

    from tailwright.study.page.explained import explanation_page
    from tailwright.study.page.html import refuse_unwritable, write_page

    if page is not None:
        refuse_unwritable(page)
    run = tw.load(folder)
    wanted = dialled(out, run, tail)
    explanation = run.explain(text, labels, k=k, tail=wanted, rows=rows)
    out.text(shown(explanation))
    if page is not None:
        asked = [word for label in labels or [] for word in ("--label", label)]
        options = [*asked, "--k", str(k), "--tail", tail, "--rows", str(rows), "--out", str(page)]
        again = shlex.join(["tailwright", "explain", str(folder), text, *options])
        write_page(page, explanation_page(explanation, again))
        out.note(f"wrote {page}")
    if text.isprintable() and not text.startswith("-"):
        shown_next = ["explain", str(folder), text, "--out", free_name("why.html")]
        out.next(*(shown_next if page is None else ["predict", str(folder), text]))
    out.result(
        run=str(folder), **({} if page is None else {"report": str(page)}), **explanation.as_dict(), k=k
    )


def shown(explanation: Explanation) -> str:
    """The explanation as it fits the terminal; if stdout is one, with the words of the text marked."""
    from tailwright.runs.explained_text import Line, details, heading, line, marked_text, remarks, said

    marks = sys.stdout.isatty()
    lines = [] if marks and explanation.labels else [said(explanation.text)]
    lines += remarks(explanation)
    for label in explanation.labels:
        lines += [line(0), heading(label)]
        if marks:
            lines.append(Line(2, marked_text(explanation.text, label.reasons.words or ())))
        lines += details(label, explanation.nearest_by)
    return wrapped(lines, shutil.get_terminal_size().columns, styled=marks)


def wrapped(lines: Sequence[Line], columns: int, *, styled: bool) -> str:
    """Lines as text of so many columns; what does not fit into one goes on below, a little to the right."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=io.StringIO(), width=columns, force_terminal=styled, highlight=False)
    with console.capture() as capture:
        for indent, segments in lines:
            text = Text.assemble(*((segment.text, STYLES[segment.style]) for segment in segments))
            rows = text.wrap(console, max(columns - indent - HANGING, 1))
            for number, row in enumerate(rows or [text]):
                row.rstrip()
                console.print(Text(" " * (indent + HANGING * (number > 0))) + row, soft_wrap=True)
    return "\n".join(row.rstrip() for row in capture.get().splitlines())
