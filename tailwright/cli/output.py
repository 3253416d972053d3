"""What a command says: text or one line of JSON on stdout, notes and progress on stderr."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tailwright import progress

METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "PSnDCG@5", "R@10", "ECE@5")
FEWEST_TO_WRAP_AT = 30  # a last column of words is not made narrower than this
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

    def result(self, **result: Any) -> None:
        """The machine-readable last line; only with `--json`."""
        if self.as_json:
            _print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader has gone (`| head`): no error of ours, and the command may still have a file to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def laid_out(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int | None = None) -> str:
    """A table as text; numbers stand to the right.

    In a terminal of `columns` the last column is wrapped if need be; nothing is cut off.

    >>> print(laid_out(["name", "rows"], [["train", "1,200"], ["test", "30"]]))
    name    rows
    train  1,200
    test      30
    """
    table = Table(box=None, pad_edge=False, header_style="")
    cells = list(zip(header, *rows, strict=True))
    widths = [max(map(cell_len, column)) for column in cells]
    for (name, *values), width in zip(cells, widths, strict=True):
        is_last = len(table.columns) == len(header) - 1
        right = all(map(_is_number, values))
        table.add_column(
            Text(name), justify="right" if right else "left", min_width=0 if is_last and not right else width
        )
    for row in rows:
        table.add_row(*map(Text, row))
    whole = sum(widths) + 2 * len(widths)
    fixed = whole - max(widths[-1] - FEWEST_TO_WRAP_AT, 0)
    console = Console(file=io.StringIO(), width=whole if columns is None else max(columns, fixed))
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _is_number(cell: str) -> bool:
    """Digits with separators and a sign, in percent or not; a dash or nothing stands for one."""
    return cell in {"", "-"} or cell.translate(_PUNCTUATION).removesuffix(" %").isdigit()
