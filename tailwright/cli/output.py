"""What a command says: text or one line of JSON on stdout, notes and progress on stderr."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tailwright import progress

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "PSnDCG@5", "R@10", "ECE@5")
FEWEST_TO_WRAP_AT = 30  # a last column of words is not made narrower than this
GAP = 2  # between two columns
_PUNCTUATION = str.maketrans("", "", ",.-")


class Output:
    """Where one command prints, by its `--json` and `--quiet`."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        progress.show(not quiet)

    def text(self, text: str = "") -> None:
        """Text for people, on stdout; not with `--json`."""
        if not self.as_json:
            _print(text)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table on stdout; not with `--json`."""
        if not self.as_json:
            columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
            _print(laid_out(header, rows, columns))

    def metrics(self, metrics: dict[str, Any], title: str) -> None:
        """A table of the metrics of all labels, then of head, torso, tail and unseen labels."""
        shown = [name for name in METRICS if name in metrics]
        rows = [
            [labels, *(f"{of_labels[name]:.2f}" if name in of_labels else "-" for name in shown)]
            for labels, of_labels in {"all labels": metrics, **metrics["slices"]}.items()
        ]
        self.text(f"\n{title}")
        self.table(["labels", *shown], rows)

    def note(self, text: str) -> None:
        """A remark on stderr; not with `--quiet`."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def next(self, *words: str) -> None:
        """The command that may come next, on stderr and as a shell takes it; not with `--quiet` or `--json`.

        Without words nothing is said.
        """
        if words and not self.as_json:
            self.note(f"next: {shlex.join(['tailwright', *words])}")

    def result(self, **result: Any) -> None:
        """The machine-readable last line; only with `--json`."""
        if self.as_json:
            _print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError as error:
        # Else Python would try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # The reader has gone (`| head`): no error of ours, and the command may still have a file to write.
        if not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from error


def laid_out(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int | None = None) -> str:
    """A table as text; numbers stand to the right.

    In a terminal of `columns` the last column is wrapped if need be. Where that is not enough, the table is
    split into several, each of which begins with the first column; nothing is cut off.

    >>> print(laid_out(["name", "rows"], [["train", "1,200"], ["test", "30"]]))
    name    rows
    train  1,200
    test      30
    >>> print(laid_out(["name", "rows", "labels"], [["train", "1,200", "70"]], columns=15))
    name    rows
    train  1,200
    <BLANKLINE>
    name   labels
    train      70
    """
    made = [Column.of(name, values) for name, *values in zip(header, *rows, strict=True)]
    return "\n\n".join(_one_table(piece, columns) for piece in _pieces(made, columns))


@dataclass(frozen=True)
class Column:
    """A column of a table: its name and cells, how wide they are, and whether all of them are numbers."""

    name: str
    cells: Sequence[str]
    width: int
    is_number: bool

    @classmethod
    def of(cls, name: str, cells: Sequence[str]) -> Column:
        return cls(name, cells, max(map(cell_len, (name, *cells))), all(map(_is_number, cells)))

    @property
    def narrowest(self) -> int:
        """How wide it must be as the last one of a table."""
        return self.width if self.is_number else min(self.width, FEWEST_TO_WRAP_AT)


def _pieces(table: Sequence[Column], columns: int | None) -> list[list[Column]]:
    """The columns of each table that fits into a terminal, the first column in all of them."""
    first, *others = table
    pieces = [[first]]
    for column in others:
        piece = pieces[-1]
        needed = sum(one.width + GAP for one in piece) + column.narrowest
        if columns is None or needed <= columns or len(piece) == 1:
            piece.append(column)
        else:
            pieces.append([first, column])
    return pieces


def _one_table(piece: Sequence[Column], columns: int | None) -> str:
    table = Table(box=None, pad_edge=False, header_style="")
    for column in piece:
        wraps = column is piece[-1] and not column.is_number
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        table.add_column(Text(column.name), justify=justify, min_width=0 if wraps else column.width)
    for row in zip(*(column.cells for column in piece), strict=True):
        table.add_row(*map(Text, row))
    whole = sum(column.width + GAP for column in piece)
    fixed = whole - piece[-1].width + piece[-1].narrowest
    console = Console(file=io.StringIO(), width=whole if columns is None else max(columns, fixed))
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _is_number(cell: str) -> bool:
    """Digits with separators and a sign, in percent or not; a dash or nothing stands for one."""
    return cell in {"", "-"} or cell.translate(_PUNCTUATION).removesuffix(" %").isdigit()
